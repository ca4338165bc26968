/** Adds the keyboard shortcuts: `/` searches, `g` and a letter opens a screen, `?` lists them. */
export function openKeys(): void {
  let isGoing = false
  document.addEventListener('keydown', (event) => {
    const { ctrlKey, altKey, metaKey, key, target } = event
    const isTyping =
      target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
    if (isTyping || ctrlKey || altKey || metaKey) return
    const wasGoing = isGoing
    isGoing = key === 'g'
    const done = wasGoing ? go(key) : keys[key]?.()
    if (done) event.preventDefault()
  })
}

const keys: Readonly<Record<string, () => boolean>> = {
  '/': () => {
    const box = document.querySelector<HTMLInputElement>('main [type=search], .find [type=search]')
    box?.focus()
    box?.select()
    return box !== null
  },
  '?': () => {
    helpDialog().showModal()
    return true
  },
}

const findBox = () => document.querySelector<HTMLInputElement>('.find [type=search]')

const links = () => [...document.querySelectorAll<HTMLAnchorElement>('.screens a[data-letter]')]

function go(letter: string): boolean {
  const link = links().find(({ dataset }) => dataset.letter === letter)
  link?.click()
  return link !== undefined
}

function helpDialog(): HTMLDialogElement {
  const known = document.querySelector<HTMLDialogElement>('#keys')
  if (known) return known
  const dialog = document.createElement('dialog')
  dialog.id = 'keys'
  dialog.setAttribute('aria-labelledby', 'keys-title')
  const title = document.createElement('h2')
  title.id = 'keys-title'
  title.textContent = 'Keys'
  const list = document.createElement('dl')
  const shown = links().map(({ dataset, textContent }) => [`g ${dataset.letter}`, textContent])
  for (const [key = '', does = ''] of [['/', findBox()?.placeholder ?? 'Search'], ...shown]) {
    const term = document.createElement('dt')
    const description = document.createElement('dd')
    const cap = document.createElement('kbd')
    cap.textContent = key
    term.append(cap)
    description.textContent = does
    list.append(term, description)
  }
  const close = document.createElement('form')
  close.method = 'dialog'
  const button = document.createElement('button')
  button.textContent = 'Close'
  close.append(button)
  dialog.append(title, list, close)
  document.body.append(dialog)
  return dialog
}
