// Says what a figure means and what is behind it.

import { element, prose } from '/elements.js'
import { figure, list } from '/figures.js'
import { formatDecimal } from '/decimals.js'
import { periodEnd, periodName, value, words } from '/words.js'
import { readExplanation, readReport } from '/reports.js'

const entryLimit = 100
const dialog = document.getElementById('explanation')
const filters = { store: 'store', product_id: 'product', country: 'country', offer: 'offer', currency: 'currency', kind: 'kind' }
let asked = 0

/** Opens the explanation of a figure. */
export async function explain (sheet, row, column) {
  const mine = ++asked
  const title = document.getElementById('explanation-title')
  const body = document.getElementById('explanation-body')
  const known = sheet.shape.columns.get(column)
  title.textContent = words(column)
  body.replaceChildren(
    element('p', { class: 'cell' }, place(sheet, row)),
    element('p', { class: 'exact' }, exact(sheet, row, column)),
    prose(known ? `\`${sheet.report}.${column}\`: ${known.meaning}.` : 'How many rows the report has of this kind.'))
  const behind = element('div', { 'aria-live': 'polite', 'aria-busy': 'true' }, prose('Reading what is behind it …'))
  body.append(behind)
  if (!dialog.open) dialog.showModal()
  title.focus()
  let content
  try {
    content = await reasons(sheet, row, column, known)
  } catch (error) {
    content = [prose(error.message)]
  }
  if (mine !== asked) return
  behind.replaceChildren(...content)
  behind.setAttribute('aria-busy', 'false')
}

function exact (sheet, row, column) {
  if (row[column] === null) return 'unknown'
  return [row[column], sheet.currency(row, column)].filter(part => part !== undefined).join(' ')
}

/** The dimensions of a row in words. */
function place (sheet, row) {
  return Object.keys(row)
    .filter(name => sheet.shape.columns.get(name)?.role === 'Dimension' && name !== 'period')
    .filter(name => !(name === 'store' && row[name] === null))
    .map(name => name === 'day' || name === 'starts_on' ? periodName(row[name], sheet.span(row)) : value(row[name]))
    .join(' · ')
}

async function reasons (sheet, row, column, known) {
  const role = known?.role
  if (role === 'Rate' || role === 'Ratio') return parts(sheet, row, known)
  if (sheet.query.converted) return currencies(sheet, row, column)
  if (!known) return [prose(`\`tenure report ${sheet.report}\` lists them, one a line.`)]
  if (!('day' in row || 'starts_on' in row)) return [prose('It is counted from the subscriptions themselves, each of them once.')]
  const isFlow = role === 'Flow' || role === 'Whole'
  if ('day' in row && isFlow && sheet.span(row) !== 'day') return days(sheet, row, column)
  return entries(sheet, row, column, role)
}

/** The figures that a share is made of. */
function parts (sheet, row, known) {
  const named = (known.meaning.match(/\w+/g) || []).filter(name => name in row)
  if (named.length === 0) return [prose('It is counted from the subscriptions themselves, each of them once.')]
  return [element('ul', {}, ...[...new Set(named)].map(name => element('li', {}, `${words(name)}: `, figure(sheet, row, name))))]
}

/** What a figure over all currencies is made of in each of them. */
async function currencies (sheet, row, column) {
  const own = column.replace(/_converted$/, '')
  const query = { ...sheet.query, converted: undefined }
  const rows = (await readReport(sheet.report, query))
    .filter(candidate => Object.keys(filters).concat('day').every(name => !(name in row) || candidate[name] === row[name]))
    .filter(candidate => candidate[own] === null || Number(candidate[own]) !== 0)
  if (rows.length === 0) return [prose('There is nothing behind it in any currency.')]
  const inCurrencies = new sheet.constructor(sheet.report, rows, query, sheet.context)
  const isConverted = own !== column
  return [
    prose(isConverted
      ? 'In the currencies that were charged, each converted at the rate of its purchase day:'
      : 'In the currencies that were charged:'),
    element('ul', {}, ...rows.map(found => element('li', {},
      `${value(found.currency)} `, figure(inCurrencies, found, own),
      isConverted ? ` = ${inCurrencies.text(found, column)} ${row.converted_to}` : null)))
  ]
}

/** The days of a period in which there is anything. */
async function days (sheet, row, column) {
  const span = sheet.span(row)
  const last = [periodEnd(row.day, span), sheet.query.to].filter(Boolean).sort()[0]
  const query = { ...sheet.query, by: undefined, from: [row.day, sheet.query.from].filter(Boolean).sort().at(-1), to: last }
  const rows = (await readReport(sheet.report, query)).filter(candidate =>
    Object.keys(filters).every(name => !(name in row) || candidate[name] === row[name]) &&
    candidate[column] !== null && Number(candidate[column]) !== 0)
  if (rows.length === 0) return [prose('There is nothing behind it on any of its days.')]
  const daily = new sheet.constructor(sheet.report, rows, query, sheet.context)
  return [
    prose('The days it is the sum of:'),
    element('ul', { class: 'days' }, ...rows.map(found =>
      element('li', {}, `${periodName(found.day, 'day')}: `, figure(daily, found, column))))
  ]
}

/** Whether the report has something in a row's place on a day. */
async function hasRow (sheet, row, day) {
  const rows = await readReport(sheet.report, { ...sheet.query, by: undefined, from: day, to: day })
  return rows.some(candidate => Object.keys(filters).every(name => !(name in row) || candidate[name] === row[name]))
}

/** The entries behind a figure of a day, or of a period of churn. */
async function entries (sheet, row, column, role) {
  const span = sheet.span(row)
  const start = row.starts_on ?? row.day
  let on = start
  if (row.day !== undefined && span !== 'day') {
    const first = [row.day, sheet.query.from].filter(Boolean).sort().at(-1)
    const last = [periodEnd(row.day, span), sheet.query.to, sheet.context.day].filter(Boolean).sort()[0]
    on = role === 'Opening' ? first : last
  }
  // A period's row begins with its first day that has one: before it a figure is 0, and has no day to be explained by.
  if (row.day !== undefined && span !== 'day' && Number(row[column]) === 0 && !(await hasRow(sheet, row, on))) {
    return [prose(`There is nothing behind it on ${periodName(on, 'day')}.`)]
  }
  const parameters = {
    on, column, app: row.app, environment: row.environment, limit: entryLimit, by: row.starts_on ? span : undefined
  }
  for (const [name, parameter] of Object.entries(filters)) {
    if (name in row) parameters[parameter] = row[name] === null ? 'unknown' : row[name]
  }
  const found = await readExplanation(sheet.report, parameters)
  if (found.entries.length === 0) return [prose('There is nothing behind it.')]
  const currency = sheet.currency(row, column)
  const rows = found.entries.map(entry => ({
    at: entry.at.slice(0, 16).replace('T', ' '),
    what: words(entry.kind ?? ''),
    original_transaction: entry.original_transaction_id,
    [column]: value(entry.change[column] ?? 0),
    because_of: [entry.cause?.raw_kind, entry.cause?.source, entry.cause?.event_id].filter(Boolean).join(' · ')
  }))
  return [
    prose(`The entries behind it${currency ? `, in ${currency}` : ''}; together ${found.sum[column]}` +
      (rows.length === entryLimit
        ? `. These are the first ${formatDecimal(entryLimit, 0)}: \`tenure explain ${sheet.report} --on ${on} --column ${column}\` lists all.`
        : '.')),
    list('Entries', Object.keys(rows[0]), rows)
  ]
}

dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close() })
