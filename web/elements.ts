/** An element of the page. @throws Error when the page has none of that kind under the name. */
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const element = document.getElementById(id)
  if (element instanceof kind) return element
  throw new Error(`The page has no ${kind.name} #${id}.`)
}

/** What the page got from its server. */
export function readMeta(name: string): string {
  const meta = document.querySelector(`meta[name="pinfold-${name}"]`)
  return meta instanceof HTMLMetaElement ? meta.content : ''
}

/** Says in a live region how something went. */
export function say(region: HTMLElement, text: string, tone: 'good' | 'bad'): void {
  region.textContent = text
  region.classList.toggle('good', tone === 'good')
  region.classList.toggle('bad', tone === 'bad')
}

/** What a form is for; nothing is ever sent by the form itself, and one thing happens at a time. */
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

/** Takes what was typed out of a field: it is not kept there a moment longer than it is needed. */
export function consumeValue(input: HTMLInputElement): string {
  const { value } = input
  input.value = ''
  return value
}
