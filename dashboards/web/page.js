// Shows the overview: what is chosen above, section by section below.

import { clearCharts, drawCharts } from '/charts.js'
import { element, prose } from '/elements.js'
import { readReport, readShapes } from '/reports.js'
import { sections } from '/sections.js'
import { dayAfter, value } from '/words.js'

const main = document.getElementById('figures')
const asOf = document.getElementById('as-of')
const picker = name => document.getElementById(name)
const pickers = ['app', 'range', 'from', 'to', 'by', 'group', 'currency', 'environment']
let shapes
let round = 0

/** What was chosen is in the address, so that it can be kept and sent on. */
function remember () {
  const parameters = new URLSearchParams()
  for (const name of pickers) if (picker(name).value) parameters.set(name, picker(name).value)
  history.replaceState(null, '', `?${parameters}`)
}

function recall () {
  const parameters = new URLSearchParams(location.search)
  for (const name of pickers) {
    const found = parameters.get(name)
    if (found === null) continue
    const control = picker(name)
    // Apps and currencies are known later.
    if (control instanceof HTMLSelectElement && control.options.length === 0) control.append(element('option', {}, found))
    control.value = found
  }
}

/** Offers choices, and keeps the one that was made where it is among them. */
function offer (name, choices) {
  const control = picker(name)
  const chosen = control.value
  control.replaceChildren(...choices.map(([text, label]) => element('option', { value: text }, label)))
  control.value = choices.some(([text]) => text === chosen) ? chosen : choices[0]?.[0] ?? ''
}

/** The days that the range stands for, up to the last one that is measured. */
function chooseDays (day) {
  const range = picker('range').value
  if (range === 'chosen') return
  picker('from').value = range === 'all' ? '' : dayAfter(day, 1 - Number(range))
  picker('to').value = range === 'all' ? '' : day
}

function fail (text) {
  main.replaceChildren(element('div', { class: 'empty', role: 'alert' }, prose(text)))
  main.setAttribute('aria-busy', 'false')
  asOf.textContent = ''
}

/**
 * What all sections need: the app, the last reporting day, the currencies. Nothing when there is nothing to show.
 * An answer that comes when something else has been chosen is thrown away before anything of it is shown.
 */
async function readContext (isLate) {
  const read = async (...asked) => {
    const rows = await readReport(...asked)
    if (isLate()) throw new Error('something else has been chosen')
    return rows
  }
  const environment = picker('environment').value
  shapes ??= await readShapes()
  const [runs, products] = await Promise.all([
    read('runs', { last: 1 }), read('products', { environment, group_by: 'app' })
  ])
  const apps = [...new Set(products.map(row => row.app))]
  if (runs.length === 0) {
    fail('There are no figures yet. Take in events, `tenure ingest --source app_store FILE`, then make figures of them: `tenure measure`. `tenure demo --serve` shows a made-up year.')
    return undefined
  }
  offer('app', apps.map(app => [app, app]))
  const app = picker('app').value
  if (!app) {
    fail(`Nothing of the environment ${environment} has come in. Choose another one above, or take in its events: \`tenure ingest --source app_store FILE\`, then \`tenure measure\`.`)
    return undefined
  }
  const moment = runs[0].as_of
  const [last] = await read('active_subscribers', { app, environment, last: 1 })
  const day = last?.day ?? moment.slice(0, 10)
  chooseDays(day)
  const currencies = await read('mrr', { app, environment, from: day, to: day, group_by: 'app' })
  const revenue = await read('revenue', {
    app, environment, from: picker('from').value, to: picker('to').value, by: 'year', group_by: 'app'
  })
  const known = [...new Set([...currencies, ...revenue].map(row => row.currency))].filter(Boolean).sort()
  const reportingCurrency = currencies[0]?.converted_to ?? revenue[0]?.converted_to
  offer('currency', [
    ['', `all, converted${reportingCurrency ? ` to ${reportingCurrency}` : ''}`], ...known.map(code => [code, `${code} alone`])
  ])
  asOf.textContent = `${value(app)}, as of ${moment.slice(0, 16).replace('T', ' ')} UTC; the last reporting day is ${day}` +
    (last && !last.is_complete ? ', which is still running' : '')
  return {
    app,
    environment,
    day,
    from: picker('from').value,
    to: picker('to').value,
    by: picker('by').value,
    group: picker('group').value,
    currency: picker('currency').value,
    reportingCurrency,
    isConvertible: currencies.every(row => row.currency === null || row.mrr_converted !== null),
    shapes,
    answers: new Map()
  }
}

async function show () {
  const mine = ++round
  main.setAttribute('aria-busy', 'true')
  try {
    const context = await readContext(() => mine !== round)
    if (mine !== round || !context) return
    remember()
    clearCharts()
    main.replaceChildren(...sections.map(({ id, title }) =>
      element('section', { id, 'aria-labelledby': `${id}-title` },
        element('h2', { id: `${id}-title` }, title), prose('Reading …'))))
    // One after the other, so that what is seen first is there first.
    const order = [...sections.filter(section => !section.isLate), ...sections.filter(section => section.isLate)]
    for (const { id, fill } of order) {
      let content
      try {
        content = await fill(context)
      } catch (error) {
        content = [element('p', { class: 'note', role: 'alert' }, error.message)]
      }
      if (mine !== round) return
      const place = document.getElementById(id)
      place.replaceChildren(place.firstChild, ...content.filter(Boolean))
      drawCharts()
    }
  } catch (error) {
    if (mine === round) fail(error.message)
  }
  if (mine === round) main.setAttribute('aria-busy', 'false')
}

for (const name of pickers) {
  picker(name).addEventListener('change', () => {
    if (name === 'from' || name === 'to') picker('range').value = 'chosen'
    show()
  })
}
picker('pickers').addEventListener('submit', event => event.preventDefault())
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show)
recall()
show()
