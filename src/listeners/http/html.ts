/** Text that is markup already. Whatever else comes into a page is escaped. */
export class Html {
  readonly #markup: string

  /** @internal by `html`, and the renderer of the project's documents. */
  constructor(markup: string) {
    this.#markup = markup
  }

  toString(): string {
    return this.#markup
  }
}

/** The content of a page: nothing where there is nothing to say. */
export type Content = Html | string | number | null | undefined | false | readonly Content[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/**
 * Markup, by a template whose values are text: they are escaped, in elements and in quoted
 * attributes alike. No value may stand in a script, a style or an attribute without quotes.
 */
export const html = (parts: TemplateStringsArray, ...values: readonly Content[]): Html =>
  new Html(String.raw({ raw: parts }, ...values.map(renderMarkup)))

function renderMarkup(content: Content): string {
  if (content === null || content === undefined || content === false) return ''
  if (content instanceof Html) return content.toString()
  if (typeof content === 'object') return content.map(renderMarkup).join('')
  return String(content).replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
}
