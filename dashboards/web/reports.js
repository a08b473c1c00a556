// Reads what the server reports. Every figure is one of its reports, as `tenure report` prints it: nothing is added up here.

/** What is wrong, in the server's words. */
export class Refusal extends Error {
  constructor (status, detail) {
    super(detail)
    this.status = status
  }
}

// Amounts keep all their digits: they are read as text, not as numbers of the browser.
function parse (text) {
  return JSON.parse(text, (name, value, context) =>
    typeof value === 'number' && context && !Number.isSafeInteger(value) ? context.source : value)
}

async function get (path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const response = await fetch(given.length ? `${path}?${new URLSearchParams(given)}` : path)
  const text = await response.text()
  if (response.ok) return parse(text)
  let detail = response.statusText
  try { detail = JSON.parse(text).detail || detail } catch { /* from something in between */ }
  throw new Refusal(response.status, detail)
}

/** Every report with its meaning and that of its columns, by name. */
export async function readShapes () {
  const shapes = await get('/v1/reports')
  return new Map(shapes.map(shape => [
    shape.name,
    { meaning: shape.meaning, columns: new Map(shape.columns.map(column => [column.name, column])) }
  ]))
}

/** The rows of a report. */
export const readReport = (name, parameters) => get(`/v1/reports/${name}`, parameters)

/** The entries behind a figure. */
export const readExplanation = (report, parameters) => get(`/v1/explain/${report}`, parameters)
