/**
 * Returns an element of the page. @throws Error when there is no element of that kind under the
 * name.
 */
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const element = document.getElementById(id)
  if (element instanceof kind) return element
  throw new Error(`The page has no ${kind.name} #${id}.`)
}

/** Reads a value that the server put into the page. */
export function readMeta(name: string): string {
  const meta = document.querySelector(`meta[name="pinfold-${name}"]`)
  return meta instanceof HTMLMetaElement ? meta.content : ''
}

/** Announces a result in a live region. */
export function say(region: HTMLElement, text: string, tone: 'good' | 'bad'): void {
  region.textContent = text
  region.classList.toggle('good', tone === 'good')
  region.classList.toggle('bad', tone === 'bad')
}

/** Handles a form by script: the browser never submits it, and one act runs at a time. */
export function onSubmit(id: string, act: () => Promise<void>): void {
  const form = byId(id, HTMLFormElement)
  let isBusy = false
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (isBusy) return
    isBusy = true
    await act().finally(() => {
      isBusy = false
    })
  })
}

/** Returns the value of a field and clears the field. */
export function consumeValue(input: HTMLInputElement): string {
  const { value } = input
  input.value = ''
  return value
}
