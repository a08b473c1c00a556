// Shows the main reports as tables, read from /v1/reports with the page's cookie.
'use strict'

const reports = [
  { name: 'active_subscriptions', groupBy: 'product' },
  { name: 'active_subscribers' },
  { name: 'movements', groupBy: 'product' },
  { name: 'churn' },
  { name: 'renewal_revenue', groupBy: 'product' },
  { name: 'revenue', groupBy: 'product' },
]
const rowLimit = 400
let meanings = new Map()
let round = 0

// Amounts keep all their digits: they are read as text, not as numbers of the browser.
function parse (text) {
  return JSON.parse(text, (name, value, context) =>
    typeof value === 'number' && context && !Number.isSafeInteger(value) ? context.source : value)
}

async function get (path) {
  const response = await fetch(path)
  const text = await response.text()
  if (response.ok) return parse(text)
  let detail = text
  try { detail = JSON.parse(text).detail } catch { /* not one of ours */ }
  throw new Error(detail || response.statusText)
}

function cell (row, text, isNumber, kind = 'td') {
  const element = document.createElement(kind)
  element.textContent = text === null || text === undefined ? '' : text
  if (isNumber) element.className = 'number'
  row.append(element)
}

function isNumeric (value) { return /^-?\d+(\.\d+)?$/.test(String(value)) }

function fill (section, rows) {
  const table = section.querySelector('table')
  const columns = Object.keys(rows[0] || {}).filter(name => rows.some(row => row[name] !== null))
  const numeric = columns.filter(name => rows.every(row => row[name] === null || isNumeric(row[name])))
  const head = table.tHead.insertRow()
  for (const name of columns) cell(head, name.replaceAll('_', ' '), numeric.includes(name), 'th')
  // The newest are at the end.
  for (const row of rows.slice(-rowLimit).reverse()) {
    const line = table.tBodies[0].insertRow()
    for (const name of columns) cell(line, row[name], numeric.includes(name))
  }
  section.querySelector('.note').textContent =
    rows.length === 0
      ? 'No rows. Figures are made by: tenure measure'
      : rows.length > rowLimit ? `The last ${rowLimit} of ${rows.length} rows` : ''
}

async function show (report, section) {
  const query = new URLSearchParams()
  for (const name of ['by', 'from', 'to', 'environment']) query.set(name, document.getElementById(name).value)
  if (report.groupBy) query.set('group_by', report.groupBy)
  try {
    fill(section, await get(`/v1/reports/${report.name}?${query}`))
  } catch (error) {
    section.querySelector('.note').textContent = error.message
  }
}

async function showAll () {
  const mine = ++round
  const main = document.querySelector('main')
  main.replaceChildren()
  for (const report of reports) {
    const section = document.getElementById('report').content.cloneNode(true).querySelector('section')
    section.querySelector('h2').textContent = report.name.replaceAll('_', ' ')
    section.querySelector('.meaning').textContent = meanings.get(report.name) || ''
    main.append(section)
    await show(report, section)
    if (mine !== round) return
  }
}

async function start () {
  try {
    meanings = new Map((await get('/v1/reports')).map(report => [report.name, report.meaning]))
  } catch (error) {
    document.querySelector('main').textContent = error.message
    return
  }
  for (const control of document.querySelectorAll('header select, header input')) {
    control.addEventListener('change', showAll)
  }
  await showAll()
}

start()
