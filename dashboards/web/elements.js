// Makes elements of the page.

/** An element with attributes and children; a text is a child too. */
export function element (name, attributes = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue
    if (key === 'onclick') made.addEventListener('click', value)
    else if (key === 'data') Object.assign(made.dataset, value)
    else made.setAttribute(key, value === true ? '' : value)
  }
  made.append(...children.filter(child => child !== undefined && child !== null))
  return made
}

/** A text in which what stands between backquotes is code. */
export function prose (text) {
  const parts = text.split('`')
  return element('p', { class: 'note' }, ...parts.map((part, index) => index % 2 ? element('code', {}, part) : part))
}
