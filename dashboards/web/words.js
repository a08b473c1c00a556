// Names of things for people.

/** A column's name in words. */
export const words = name => name.replace(/_(id|on|at|converted)$/, '').replaceAll('_', ' ')

/** What a row says of a dimension: what is not known is said so. */
export const value = text => text === null || text === undefined ? 'unknown' : String(text)

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** The first day of a period as the name of the period. */
export function periodName (day, span) {
  const [year, month, date] = day.split('-').map(Number)
  if (span === 'year') return String(year)
  if (span === 'quarter') return `Q${Math.ceil(month / 3)} ${year}`
  if (span === 'month') return `${monthNames[month - 1]} ${year}`
  return `${date} ${monthNames[month - 1]} ${year}`
}

/** A day so many days after another, as text. */
export function dayAfter (day, days) {
  const date = new Date(`${day}T00:00:00Z`)
  date.setUTCDate(date.getUTCDate() + days)
  return date.toISOString().slice(0, 10)
}

/** The first day of the period that a day is in. */
export function periodStart (day, span) {
  const [year, month] = day.split('-')
  if (span === 'year') return `${year}-01-01`
  if (span === 'quarter') return `${year}-${String(Math.floor((month - 1) / 3) * 3 + 1).padStart(2, '0')}-01`
  if (span === 'month') return `${year}-${month}-01`
  if (span === 'week') return dayAfter(day, -((new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7))
  return day
}

/** The last day of the period that begins on a day. */
export function periodEnd (day, span) {
  const beyond = { day: 1, week: 7, month: 31, quarter: 92, year: 366 }[span]
  return dayAfter(periodStart(dayAfter(day, beyond), span), -1)
}
