// Draws series with Chart.js, in the page's colours. What a chart shows stands in a table beside it, too.

import { element } from '/elements.js'

const colours = 10
let drawn = []
let waiting = []

/** Takes away every chart, before others take their places. */
export function clearCharts () {
  for (const chart of drawn) chart.destroy()
  drawn = []
  waiting = []
}

/** Draws the charts that stand on the page by now: each takes the size of its place. */
export function drawCharts () {
  const standing = waiting.filter(({ canvas }) => canvas.isConnected)
  waiting = waiting.filter(({ canvas }) => !canvas.isConnected)
  for (const { canvas, settings } of standing) drawn.push(new window.Chart(canvas, settings))
}

function styles () {
  const style = getComputedStyle(document.documentElement)
  return name => style.getPropertyValue(name).trim()
}

/**
 * A chart.
 *
 * - title: what it shows
 * - type: line or bar
 * - labels: the periods
 * - series: each with its name and one value per label, null where there is none; `isLine` of one that is drawn over bars, on
 *   an axis of its own, as a share
 * - isStacked: whether values stand on each other
 * - format: writes a value
 */
export function chart ({ title, type, labels, series, isStacked = false, format }) {
  const style = styles()
  const ink = style('--muted')
  const canvas = element('canvas', { role: 'img', 'aria-label': summary(title, labels, series, format) })
  const frame = element('div', { class: 'chart' }, canvas)
  const axis = extra => ({
    grid: { color: style('--line') }, border: { color: style('--line') }, ticks: { color: ink, ...extra }
  })
  const hasShare = series.some(one => one.isLine)
  waiting.push({
    canvas,
    settings: {
      type,
      data: {
        labels,
        datasets: series.map((one, index) => ({
          label: one.name,
          data: one.values,
          type: one.isLine ? 'line' : type,
          yAxisID: one.isLine ? 'share' : 'y',
          borderColor: style(`--series-${index % colours}`),
          backgroundColor: style(`--series-${index % colours}`),
          borderWidth: type === 'line' || one.isLine ? 2 : 0,
          pointRadius: labels.length > 40 ? 0 : 2,
          order: one.isLine ? 0 : 1,
          fill: isStacked && type === 'line' ? (index ? '-1' : 'origin') : false
        }))
      },
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        interaction: { mode: 'index', intersect: false },
        scales: {
          x: { stacked: isStacked, ...axis({ maxRotation: 0, autoSkipPadding: 12 }) },
          y: { stacked: isStacked, beginAtZero: true, ...axis({ callback: value => format(value, true) }) },
          ...(hasShare && {
            share: {
              position: 'right', beginAtZero: true, ...axis({ callback: value => percent(value) }), grid: { display: false }
            }
          })
        },
        plugins: {
          legend: { display: series.length > 1, position: 'bottom', labels: { color: ink, boxWidth: 12 } },
          tooltip: {
            callbacks: {
              label: item => `${item.dataset.label}: ` +
                (item.dataset.yAxisID === 'share' ? percent(item.raw) : format(item.raw))
            }
          }
        }
      }
    }
  })
  return frame
}

/** A share as an axis writes it. */
export const percent = value => value === null ? '–' : `${Math.round(value * 1000) / 10} %`

function summary (title, labels, series, format) {
  const last = labels.length - 1
  const told = series.slice(0, 4).map(one => {
    const write = value => value === null || value === undefined ? 'unknown' : one.isLine ? percent(value) : format(value)
    return `${one.name} from ${write(one.values[0])} to ${write(one.values[last])}`
  })
  return `${title}, ${labels[0]} to ${labels[last]}: ${told.join('; ')}`
}

/** Series of a sheet's columns or of what a dimension distinguishes, over the periods of its rows. */
export function series (sheet, columns, { by, sign = () => 1, limit = 9 } = {}) {
  const start = sheet.rows.some(row => 'starts_on' in row) ? 'starts_on' : 'day'
  const days = [...new Set(sheet.rows.map(row => row[start]))].sort()
  const lines = new Map()
  for (const row of sheet.rows) {
    for (const column of columns) {
      const name = by ? row[by] ?? 'unknown' : column
      if (!lines.has(name)) lines.set(name, new Map())
      const found = row[column]
      lines.get(name).set(row[start], found === null ? null : sign(column) * Number(found))
    }
  }
  const all = [...lines].map(([name, values]) => ({ name, values: days.map(day => values.get(day) ?? null) }))
  // So many colours can be told apart. The largest are drawn, and the table has all.
  const weight = one => Math.max(...one.values.map(value => Math.abs(value ?? 0)))
  const kept = by ? [...all].sort((one, other) => weight(other) - weight(one)).slice(0, limit) : all
  return { days, series: kept, left: all.length - kept.length }
}
