// A figure that opens its explanation, and tables of them.

import { element } from '/elements.js'
import { formatAmount, formatDecimal, formatShare } from '/decimals.js'
import { explain } from '/explanation.js'
import { periodName, value, words } from '/words.js'

/**
 * Rows of a report and how they were asked for, so that each figure can be traced.
 *
 * - report: its name
 * - rows: its rows
 * - query: the parameters it was asked with
 * - shape: its columns' roles and meanings
 * - context: what the page shows
 */
export class Sheet {
  constructor (report, rows, query, context) {
    Object.assign(this, { report, rows, query, context, shape: context.shapes.get(report) })
  }

  /** The same sheet with some of its rows. */
  where (isKept) { return new Sheet(this.report, this.rows.filter(isKept), this.query, this.context) }

  /** The kind of period that a row is of. */
  span (row) { return row.period && row.starts_on ? row.period : this.query.by || 'day' }

  /** The currency that a column of a row is in; undefined for what is no amount. */
  currency (row, column) {
    if (column.endsWith('_converted') || column === 'arppu') return row.converted_to
    const role = this.shape.columns.get(column)?.role
    const isAmount = ['Flow', 'Whole', 'Stock', 'Opening'].includes(role) && 'currency' in row
    return isAmount && !/charges|subscriptions/.test(column) ? row.currency : undefined
  }

  /** A column of a row as text for people. */
  text (row, column) {
    const found = row[column]
    if (found === null || found === undefined) return '–'
    const role = this.shape.columns.get(column)?.role
    if (role === 'Rate' || role === 'Ratio') return formatShare(found)
    const currency = this.currency(row, column)
    return currency ? formatAmount(found, currency) : formatDecimal(found, 0)
  }
}

/** A button with a figure on it. What it shows and where it stands can be read off its attributes. */
export function figure (sheet, row, column, attributes = {}) {
  const dimensions = Object.fromEntries(
    Object.entries(row).filter(([name]) => sheet.shape.columns.get(name)?.role === 'Dimension'))
  return element('button', {
    type: 'button',
    class: 'figure',
    title: row[column] === null ? 'unknown' : String(row[column]),
    data: { report: sheet.report, column, value: String(row[column]), row: JSON.stringify(dimensions), query: JSON.stringify(sheet.query) },
    onclick: () => explain(sheet, row, column),
    ...attributes
  }, sheet.text(row, column))
}

/** What a row's own columns say of it, for the first cells of its line. */
export function label (sheet, row, name) {
  if (name === 'day' || name === 'starts_on' || name === 'cohort_on') return periodName(row[name], sheet.span(row))
  return value(row[name])
}

/** A table of a sheet, the newest first: some of its dimensions, then figures. It can be scrolled by the keyboard. */
export function table (sheet, caption, dimensions, columns, rows = sheet.rows.toReversed()) {
  const isNumber = name => columns.includes(name)
  const head = [...dimensions, ...columns].map(name =>
    element('th', { scope: 'col', class: isNumber(name) && 'number' },
      sheet.query.converted && name.endsWith('_converted') ? `${words(name)} (${rows[0]?.converted_to})` : words(name)))
  const lines = rows.map(row => element('tr', {},
    ...dimensions.map((name, index) =>
      element(index ? 'td' : 'th', index ? {} : { scope: 'row' }, label(sheet, row, name))),
    ...columns.map(name => element('td', { class: 'number' }, figure(sheet, row, name)))))
  return scrolling(caption, element('table', {},
    element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...lines)))
}

/** A table of plain texts. */
export function list (caption, columns, rows) {
  return scrolling(caption, element('table', {},
    element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...columns.map(name => element('th', { scope: 'col' }, words(name))))),
    element('tbody', {}, ...rows.map(row => element('tr', {},
      ...columns.map((name, index) => element(index ? 'td' : 'th', index ? {} : { scope: 'row' }, row[name] ?? '–')))))))
}

/** What is wider or longer than its place is scrolled there. */
export function scrolling (name, content) {
  return element('div', { class: 'rows', tabindex: '0', role: 'region', 'aria-label': `${name}, table` }, content)
}

/** A table that is shown when it is asked for. */
export function details (...parameters) {
  return element('details', {}, element('summary', {}, `${parameters[1]}: figures`), table(...parameters))
}
