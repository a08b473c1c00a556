// What the page shows: each section reads reports and fills itself.

import { chart, series } from '/charts.js'
import { formatAmount, formatDecimal } from '/decimals.js'
import { element, prose } from '/elements.js'
import { Sheet, details, figure, label, list, scrolling, table } from '/figures.js'
import { readReport } from '/reports.js'
import { dayAfter, periodName, periodStart, value, words } from '/words.js'

/** Reads a report for the page: with its app and environment, and what else is asked. What two sections ask is asked once. */
async function read (context, report, query = {}) {
  const all = { app: context.app, environment: context.environment, ...query }
  const key = JSON.stringify([report, all])
  if (!context.answers.has(key)) context.answers.set(key, readReport(report, all))
  return new Sheet(report, await context.answers.get(key), all, context)
}

/** Its days, brought together and grouped as was chosen. */
const chosen = (context, group = context.group) =>
  ({ from: context.from, to: context.to, by: context.by, group_by: group })

const groupColumn = group => ({ product: 'product_id', country: 'country', store: 'store' })[group]

const count = found => found === null ? '–' : formatDecimal(found, 0)
const amount = currency => found => found === null ? '–' : `${formatAmount(Math.round(found * 1e6) / 1e6, currency)} ${currency ?? ''}`

function labels (sheet, days) { return days.map(day => periodName(day, sheet.query.by || 'day')) }

/** A chart of a sheet, and its figures. */
function shown (sheet, title, type, columns, { by, isStacked, format = count, sign, lines = [], tableColumns = columns } = {}) {
  if (sheet.rows.length === 0) return []
  const dimensions = [sheet.rows[0].starts_on ? 'starts_on' : 'day', ...(by ? [by] : [])]
  const drawn = series(sheet, columns, { by, sign })
  const named = drawn.series.map(one => ({ ...one, name: by ? one.name : words(one.name) }))
  const over = lines.flatMap(column => series(sheet, [column]).series.map(one => ({ ...one, name: words(column), isLine: true })))
  return [
    chart({ title, type, labels: labels(sheet, drawn.days), series: [...named, ...over], isStacked, format }),
    drawn.left > 0 ? prose(`The chart has the ${named.length} largest; ${drawn.left} more are in the figures.`) : null,
    details(sheet, title, dimensions, [...tableColumns, ...lines])
  ]
}

const heading = text => element('h3', {}, text)
const empty = text => [element('div', { class: 'empty' }, prose(text))]

// MARK: Today

function tile (title, figures, note) {
  return element('div', { class: 'tile' }, element('h3', {}, title), ...figures, note ? element('p', {}, note) : null)
}

const unit = text => element('span', { class: 'unit' }, ` ${text}`)

async function today (context) {
  const day = { from: context.day, to: context.day }
  const month = periodStart(context.day, 'month')
  const before = periodStart(dayAfter(month, -1), 'month')
  const [people, subscriptions, mrr, moved, churn, renewals, trials, messages, deliveries] = await Promise.all([
    read(context, 'active_subscribers', { ...day }),
    read(context, 'active_subscriptions', { ...day, group_by: 'app' }),
    read(context, 'mrr', { ...day, group_by: 'app', converted: context.currency || !context.isConvertible ? undefined : true }),
    read(context, 'movements', { ...day, group_by: 'app' }),
    read(context, 'churn', { by: 'month', from: before, to: context.day }),
    read(context, 'renewal_revenue', {
      by: 'month', from: before, to: context.day, group_by: 'app', converted: context.currency ? undefined : true
    }),
    read(context, 'trials', { by: 'month', from: before, to: context.day, group_by: 'app' }),
    read(context, 'store_messages', { group_by: 'message' }),
    read(context, 'deliveries', { group_by: 'state' })
  ])
  const tiles = []
  const one = sheet => sheet.rows.find(row => !context.currency || !('currency' in row) || row.currency === context.currency)
  const add = (title, sheet, row, column, note) =>
    tiles.push(row
      ? tile(title, [figure(sheet, row, column), sheet.currency(row, column) ? unit(sheet.currency(row, column)) : null], note)
      : tile(title, [element('span', { class: 'none' }, '0')], note))
  add('Active subscribers', people, people.rows[0], 'active_subscribers')
  const change = moved.rows[0]
  add('Active subscriptions', subscriptions, subscriptions.rows[0], 'active_subscriptions', change &&
    element('span', {}, 'at the start of the day ', figure(moved, change, 'opening')))
  if (context.currency || context.isConvertible) {
    add('MRR', mrr, one(mrr), context.currency ? 'mrr' : 'mrr_converted')
  } else {
    tiles.push(tile('MRR', mrr.rows.filter(row => row.currency !== null)
      .map(row => element('div', {}, figure(mrr, row, 'mrr'), unit(row.currency))), 'not every currency has a rate'))
  }
  add('In trial', subscriptions, subscriptions.rows[0], 'active_trials')
  add('Set to cancel', subscriptions, subscriptions.rows[0], 'set_to_cancel', 'active, and will end unless renewed')
  add('Billing problems', subscriptions, subscriptions.rows[0], 'in_billing_retry', subscriptions.rows[0] &&
    element('span', {}, 'in retry, and ', figure(subscriptions, subscriptions.rows[0], 'in_grace'), ' in grace'))
  for (const first of [month, before]) {
    const rates = churn.rows.filter(row => row.starts_on === first)
    tiles.push(tile(`Churn, ${periodName(first, 'month')}`,
      rates.length
        ? rates.flatMap(row => [figure(churn, row, 'churn_rate'), rates.length > 1 ? unit(row.store) : null])
        : [element('span', { class: 'none' }, '–')],
      rates[0] && !rates[0].is_complete ? 'so far' : undefined))
  }
  const net = context.currency ? 'net' : 'net_converted'
  for (const first of [month, before]) {
    const row = renewals.rows.find(row => row.day === first && (!context.currency || row.currency === context.currency))
    const told = row && !row.is_complete ? 'net, so far' : 'net'
    add(`Renewals, ${periodName(first, 'month')}`, renewals, row, net, row && !context.currency && row.unconverted_charges > 0
      ? element('span', {}, `${told}; charges left out for want of a rate: `, figure(renewals, row, 'unconverted_charges'))
      : told)
  }
  const begun = trials.rows.find(row => row.day === before)
  if (begun) {
    add(`Trials of ${periodName(before, 'month')}`, trials, begun, 'conversion_rate', element('span', {},
      figure(trials, begun, 'converted'), ' converted of ', figure(trials, begun, 'started')))
  }
  const candidates = messages.rows.find(row => row.message === 'win_back_offer')
  add('Win-back candidates', messages, candidates, 'rows')
  const refused = deliveries.rows.find(row => row.state === 'refused')
  add('Deliveries refused', deliveries, refused, 'rows')
  return [element('div', { class: 'tiles' }, ...tiles)]
}

// MARK: Over time

async function subscribers (context) {
  const by = groupColumn(context.group)
  const [people, subscriptions] = await Promise.all([
    read(context, 'active_subscribers', { from: context.from, to: context.to, by: context.by }),
    read(context, 'active_subscriptions', chosen(context))
  ])
  if (subscriptions.rows.length === 0 && people.rows.length === 0) {
    return empty('No subscription was active in these days. Choose others, or take in events: `tenure ingest`, then `tenure measure`.')
  }
  return [
    ...shown(people, 'Active subscribers', 'line', ['active_subscribers']),
    heading(by ? `Active subscriptions by ${words(by)}` : 'Active subscriptions'),
    ...shown(subscriptions, 'Active subscriptions', 'line', ['active_subscriptions'], {
      by,
      isStacked: Boolean(by),
      tableColumns: [
        'active_subscriptions', 'active_trials', 'in_grace', 'in_billing_retry', 'set_to_cancel', 'paused', 'family_shared'
      ]
    })
  ]
}

async function movements (context) {
  const sheet = await read(context, 'movements', chosen(context, 'app'))
  if (sheet.rows.length === 0) return empty('Nothing moved in these days.')
  const came = ['new', 'trial_converted', 'reactivated', 'recovered', 'refund_reversed', 'resumed']
  const went = [
    'churned_voluntary', 'churned_billing', 'churned_price_increase', 'churned_product_unavailable', 'churned_refunded',
    'churned_other', 'churned_unconfirmed', 'suspended', 'paused'
  ]
  return shown(sheet, 'Movements', 'bar', [...came, ...went].filter(column => sheet.rows.some(row => row[column] !== 0)), {
    isStacked: true,
    sign: column => went.includes(column) ? -1 : 1,
    tableColumns: [
      'opening', ...came, ...went, 'moved_in', 'moved_out', 'closing', 'renewed', 'upgraded', 'downgraded', 'crossgraded'
    ]
  })
}

/** The currency of what is told in one currency alone: the chosen one, else the reporting currency, else the first there is. */
function ownCurrency (context, sheet) {
  const known = [...new Set(sheet.rows.map(row => row.currency))].filter(Boolean)
  const currency = context.currency || context.reportingCurrency
  return known.includes(currency) ? currency : context.currency || known[0]
}

async function recurring (context) {
  const by = groupColumn(context.group)
  const isApart = Boolean(context.currency) || !context.isConvertible
  const mrr = await read(context, 'mrr', { ...chosen(context), converted: isApart ? undefined : true })
  if (mrr.rows.length === 0) return empty('No subscription was active in these days, so that there is no MRR.')
  const currency = isApart ? ownCurrency(context, mrr) : context.reportingCurrency
  const own = isApart ? mrr.where(row => row.currency === currency) : mrr
  if (own.rows.length === 0) return empty(`There is no MRR in ${currency} in these days: choose another currency or other days.`)
  const unpriced = mrr.rows.some(row => row.day === mrr.rows.at(-1).day && row.unpriced_subscriptions > 0)
  return [
    ...shown(own, `MRR in ${currency}`, 'line', [isApart ? 'mrr' : 'mrr_converted'], {
      by,
      isStacked: Boolean(by),
      format: amount(currency),
      tableColumns: isApart ? ['mrr', 'arr'] : ['mrr_converted', 'unpriced_subscriptions']
    }),
    context.currency || context.isConvertible
      ? null
      : prose('Not every currency has a rate, so that there is no MRR of all of them: `tenure rates import eurofxref-hist.zip`, then `tenure measure`.'),
    unpriced ? prose('The price of some subscriptions is not known; they are in no MRR.') : null
  ]
}

async function recurringMovements (context) {
  const sheet = await read(context, 'mrr_movement', chosen(context, 'app'))
  const currency = ownCurrency(context, sheet)
  const own = sheet.where(row => row.currency === currency)
  if (own.rows.length === 0) return empty('No MRR moved in these days.')
  const parts = ['new', 'reactivation', 'expansion', 'contraction', 'churn', 'suspension', 'recovery', 'moved_in', 'moved_out']
  const others = [...new Set(sheet.rows.map(row => row.currency))].filter(code => code && code !== currency)
  return [
    ...shown(own, `MRR movement in ${currency}`, 'bar', parts.filter(part => own.rows.some(row => Number(row[part]) !== 0)), {
      isStacked: true, format: amount(currency), tableColumns: ['opening', ...parts, 'closing']
    }),
    prose(`In ${currency}: movements are told in the currency that is charged.` +
      (!context.currency && others.length ? ` There are also ${others.join(', ')}: choose one above.` : ''))
  ]
}

async function churn (context) {
  const sheet = await read(context, 'churn', { from: context.from, to: context.to, by: context.by })
  if (sheet.rows.length === 0) return empty('There is no whole period in these days: choose an earlier first day, or a shorter period.')
  const reasons = [...sheet.shape.columns.keys()].filter(name => name.startsWith('churned_') && name !== 'churned_same_period')
  const stores = [...new Set(sheet.rows.map(row => row.store))]
  return stores.flatMap(store => {
    const own = sheet.where(row => row.store === store)
    const told = reasons.filter(reason => own.rows.some(row => row[reason] !== 0))
    const title = stores.length > 1 ? `Churn, ${store}` : 'Churn'
    return [
      stores.length > 1 ? heading(store) : null,
      ...shown(own, title, 'bar', told, {
        isStacked: true,
        lines: ['churn_rate', 'mrr_churn_rate'],
        tableColumns: ['active_at_start', 'churned', 'churned_same_period', 'churn_rate_gross', 'churn_rate_net', ...reasons]
      })
    ]
  })
}

async function renewals (context) {
  const by = groupColumn(context.group)
  const [local, converted] = await Promise.all([
    read(context, 'renewal_revenue', chosen(context)),
    read(context, 'renewal_revenue', { ...chosen(context), converted: true })
  ])
  if (local.rows.length === 0) return empty('Nothing was renewed in these days: choose others.')
  const own = local.where(row => !context.currency || row.currency === context.currency)
  if (own.rows.length === 0) return empty(`Nothing was renewed in ${context.currency} in these days: choose another currency.`)
  const total = context.currency
    ? shown(own, `Net renewal revenue in ${context.currency}`, 'bar', ['net'], {
      by, isStacked: true, format: amount(context.currency), tableColumns: ['charges', 'gross', 'refunds', 'net', 'proceeds']
    })
    : shown(converted, `Net renewal revenue in ${context.reportingCurrency}`, 'bar', ['net_converted'], {
      by,
      isStacked: true,
      format: amount(context.reportingCurrency),
      tableColumns: ['charges', 'net_converted', 'unconverted_charges', 'unpriced_charges']
    })
  const left = converted.rows.some(row => row.unconverted_charges > 0)
  return [
    ...total,
    left && !context.currency
      ? prose('Some charges have no rate and are left out of what is converted: `tenure rates import eurofxref-hist.zip`, then `tenure measure`.')
      : null,
    heading('In the currencies that were charged'),
    currencies(own, by)
  ]
}

/** The currencies side by side: a line per period and group, the net of each currency in a column, and what it is converted to. */
function currencies (sheet, by) {
  const codes = [...new Set(sheet.rows.map(row => row.currency))].filter(Boolean).sort()
  const key = row => JSON.stringify([row.day, by && row[by]])
  const lines = Map.groupBy(sheet.rows, key)
  const title = 'Net renewal revenue by currency'
  const head = ['day', ...(by ? [by] : [])].map(name => element('th', { scope: 'col' }, words(name)))
  return scrolling(title, element('table', {},
    element('caption', {}, title, ': as charged, and below it converted'),
    element('thead', {}, element('tr', {}, ...head,
      ...codes.map(code => element('th', { scope: 'col', class: 'number' }, value(code))))),
    element('tbody', {}, ...[...lines.values()].toReversed().map(rows => element('tr', {},
      element('th', { scope: 'row' }, label(sheet, rows[0], 'day')),
      by ? element('td', {}, value(rows[0][by])) : null,
      ...codes.map(code => {
        const row = rows.find(row => row.currency === code)
        if (!row) return element('td', { class: 'number' }, '–')
        return element('td', { class: 'number' }, figure(sheet, row, 'net'),
          row.currency === row.converted_to || row.net_converted === null
            ? null
            : element('small', {}, `${sheet.text(row, 'net_converted')} ${row.converted_to}`))
      }))))))
}

async function trials (context) {
  const by = groupColumn(context.group)
  const sheet = await read(context, 'trials', chosen(context))
  if (sheet.rows.length === 0) return empty('No trial began in these days. Choose others, or offer one: a free introductory offer begins a trial.')
  const outcomes = ['converted', 'expired', 'cancelled', 'running', 'in_retry']
  if (by) {
    return shown(sheet, `Trials by ${words(by)}`, 'bar', ['started'], {
      by, isStacked: true, tableColumns: ['started', ...outcomes, 'conversion_rate']
    })
  }
  return shown(sheet, 'Trials', 'bar', outcomes, {
    isStacked: true, lines: ['conversion_rate'], tableColumns: ['started', ...outcomes]
  })
}

// MARK: Cohorts

async function cohorts (context) {
  const by = context.by === 'day' || context.by === 'week' ? 'week' : 'month'
  const sheet = await read(context, 'retention', {
    by, from: context.from && periodStart(context.from, by), to: context.to
  })
  if (sheet.rows.length === 0) {
    return empty('No one who first paid in these days was due to pay again: choose an earlier first day.')
  }
  const names = [...new Set(sheet.rows.map(row => JSON.stringify([row.product_id, row.store])))]
  const size = name => sheet.rows.filter(row => JSON.stringify([row.product_id, row.store]) === name && row.period === 1)
    .reduce((most, row) => Math.max(most, row.cohort_size), 0)
  names.sort((one, other) => size(other) - size(one))
  const place = element('div')
  const picker = element('select', {}, ...names.map(name => {
    const [product, store] = JSON.parse(name)
    return element('option', { value: name }, `${value(product)}, ${store}`)
  }))
  const fill = () => {
    const [product, store] = JSON.parse(picker.value)
    place.replaceChildren(heatMap(sheet.where(row => row.product_id === product && row.store === store), by))
  }
  picker.addEventListener('change', fill)
  fill()
  return [element('label', { class: 'inline' }, 'Product ', picker), place]
}

const mostPeriods = 24

/** Of each cohort a line, of each renewal a column: the darker, the more have paid. */
function heatMap (sheet, by) {
  const periods = Math.min(mostPeriods, Math.max(...sheet.rows.map(row => row.period)))
  const numbers = Array.from({ length: periods }, (_, index) => index + 1)
  const title = `Retention by the ${by} of the first payment`
  return scrolling(title, element('table', { class: 'heat' },
    element('caption', {}, `${title}: share that paid for each renewal, of those for whom it was due`),
    element('thead', {}, element('tr', {}, element('th', { scope: 'col' }, 'first paid'),
      element('th', { scope: 'col', class: 'number' }, 'size'),
      ...numbers.map(number => element('th', { scope: 'col', class: 'number' }, String(number))))),
    element('tbody', {}, ...[...Map.groupBy(sheet.rows, row => row.cohort_on).values()].toReversed().map(rows =>
      element('tr', {},
        element('th', { scope: 'row' }, periodName(rows[0].cohort_on, by)),
        element('td', { class: 'number' }, figure(sheet, rows[0], 'cohort_size')),
        ...numbers.map(number => {
          const row = rows.find(row => row.period === number)
          if (!row || row.retention === null) return element('td', {})
          const level = Math.round(Number(row.retention) * 10)
          return element('td', { class: `number level-${level}${row.is_complete ? '' : ' open'}` },
            figure(sheet, row, 'retention'))
        }))))))
}

// MARK: What to do

async function billing (context) {
  const [recovery, messages] = await Promise.all([
    read(context, 'billing_recovery', chosen(context)),
    read(context, 'store_messages', { group_by: 'message' })
  ])
  const by = groupColumn(context.group)
  if (recovery.rows.length === 0) return empty('No charge failed in these days.')
  const due = messages.rows.find(row => row.message === 'billing_issue')
  return [
    due
      ? element('p', {}, figure(messages, due, 'rows'), ' are in grace or in retry now and can be asked to mend their payment: ',
        element('code', {}, 'tenure report store_messages'), ' lists them.')
      : null,
    ...shown(recovery, by ? `Failed charges by ${words(by)}` : 'Failed charges', 'bar',
      by ? ['entered_retry'] : ['recovered_in_grace', 'recovered_in_retry', 'lost', 'open'], {
        by,
        isStacked: true,
        lines: by ? [] : ['recovery_rate'],
        tableColumns: ['entered_grace', 'entered_retry', 'recovered_in_grace', 'recovered_in_retry', 'lost', 'open']
      })
  ]
}

async function winBack (context) {
  const sheet = await read(context, 'winback_eligibility', { group_by: 'offer_id,eligible,reason' })
  if (sheet.rows.length === 0) {
    return empty('No one who left is measured against a win-back offer. Tell which offers there are: `tenure winback import FILE`, then `tenure measure`.')
  }
  return [
    table(sheet, 'Those who left, by offer and why it can or cannot be made to them', ['offer_id', 'reason'], ['rows'],
      [...sheet.rows].sort((one, other) => Number(other.eligible) - Number(one.eligible))),
    prose('`tenure report winback_eligibility` lists them with what each has paid.')
  ]
}

// MARK: What comes and goes

async function events (context) {
  const sheet = await read(context, 'events', { last: 15 })
  if (sheet.rows.length === 0) {
    return empty('Nothing has come in. Take in a file, `tenure ingest --source app_store FILE`, or receive events as they happen: `tenure serve` prints the address for App Store Connect.')
  }
  const rows = sheet.rows.map(row => ({
    received: moment(row.received_at),
    kind: words(row.kind),
    product: row.product_id,
    country: row.country,
    amount: row.amount === null ? null : `${formatAmount(row.amount, row.currency)} ${row.currency}`,
    occurred: moment(row.occurred_at),
    source: row.source
  }))
  return [list('The newest events', Object.keys(rows[0]), rows)]
}

const moment = text => text === null ? null : text.slice(0, 16).replace('T', ' ')

async function deliveries (context) {
  const [sheet, failed] = await Promise.all([
    read(context, 'deliveries', { group_by: 'target,state' }),
    read(context, 'deliveries', { last: 5 })
  ])
  if (sheet.rows.length === 0) {
    return empty('No target has been sent anything. Name targets in the configuration, `tenure targets test NAME` tries one, and `tenure run` delivers.')
  }
  const told = failed.rows.filter(row => row.last_error !== null)
  return [
    table(sheet, 'Deliveries by target and state', ['target', 'state'], ['rows'], sheet.rows),
    told.length
      ? list('What the newest said', ['target', 'event_id', 'state', 'last_status', 'last_error'], told)
      : null,
    prose('`tenure targets` says what waits and why.')
  ]
}

async function quality (context) {
  const sheet = await read(context, 'data_quality')
  const rows = sheet.rows.filter(row => row.count === null || Number(row.count) > 0)
  if (rows.length === 0) return empty('Nothing makes figures incomplete or doubtful.')
  return [list('What makes figures incomplete or doubtful', ['check', 'count', 'example', 'what_to_do'], rows)]
}

/** The page's sections in their order. Those that are late take longest to read and are filled after the others. */
export const sections = [
  { id: 'today', title: 'Today', fill: today },
  { id: 'subscribers', title: 'Subscribers', fill: subscribers },
  { id: 'mrr', title: 'MRR', fill: recurring },
  { id: 'movements', title: 'Movements', fill: movements, isLate: true },
  { id: 'mrr-movement', title: 'MRR movement', fill: recurringMovements, isLate: true },
  { id: 'churn', title: 'Churn', fill: churn },
  { id: 'trials', title: 'Trials', fill: trials },
  { id: 'renewals', title: 'Renewal revenue', fill: renewals },
  { id: 'cohorts', title: 'Cohorts', fill: cohorts },
  { id: 'billing', title: 'Billing problems', fill: billing },
  { id: 'winback', title: 'Win-back', fill: winBack },
  { id: 'events', title: 'Recent events', fill: events },
  { id: 'deliveries', title: 'Delivery health', fill: deliveries },
  { id: 'quality', title: 'Data quality', fill: quality }
]
