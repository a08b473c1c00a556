// Writes figures for people. They are decimal texts of any length; what is rounded is rounded half to even, for reading alone.

import { unusualMinorDigits } from '/currencies.js'

/** A decimal with so many digits behind the point, its thousands apart. */
export function formatDecimal (value, digits) {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(value)) || []
  if (whole === undefined) return String(value)
  const all = whole + fraction.padEnd(digits, '0')
  const cut = whole.length + digits
  let kept = BigInt(all.slice(0, cut))
  const rest = all.slice(cut)
  const half = '5'.padEnd(rest.length, '0')
  if (rest > half || (rest !== '' && rest === half && kept % 2n === 1n)) kept += 1n
  const text = kept.toString().padStart(digits + 1, '0')
  const point = text.length - digits
  const grouped = text.slice(0, point).replace(/\B(?=(\d{3})+$)/g, ',')
  return (sign && kept !== 0n ? '−' : '') + grouped + (digits ? '.' + text.slice(point) : '')
}

/** An amount with the digits of its currency. */
export function formatAmount (value, currency) {
  return formatDecimal(value, unusualMinorDigits[currency] ?? 2)
}

/** A share from 0 to 1 in percent. */
export function formatShare (value) {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(value)) || []
  if (whole === undefined) return String(value)
  const digits = fraction.padEnd(2, '0')
  return formatDecimal(`${sign}${whole}${digits.slice(0, 2)}.${digits.slice(2) || '0'}`, 1) + ' %'
}
