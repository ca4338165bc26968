/** What a page of the documents has in it. */
export interface ReadPage {
  readonly ids: readonly string[]
  /** Addresses of this listener that it links to or loads, without fragments. */
  readonly addresses: readonly string[]
  /** Links with a fragment: page and place; the page is empty for the same one. */
  readonly fragments: readonly (readonly [page: string, fragment: string])[]
  /** What it loads by itself. */
  readonly loaded: readonly string[]
  readonly scripts: readonly string[]
}

/** Reads the markup of a page. */
export function readPage(markup: string): ReadPage {
  const find = (pattern: RegExp) => [...markup.matchAll(pattern)].map(([, value = '']) => value)
  const links = find(/<a [^>]*href="([^"]*)"/g)
  const scripts = find(/<script [^>]*src="([^"]*)"/g)
  const loaded = [...scripts, ...find(/<link [^>]*href="([^"]*)"/g), ...find(/<img src="([^"]*)"/g)]
  const own = [...links, ...loaded].filter((href) => href.startsWith('/'))
  return {
    ids: find(/\sid="([^"]*)"/g),
    addresses: own.map((href) => href.split('#')[0] ?? ''),
    fragments: links
      .filter((href) => /^(?:\/docs[^#]*)?#/.test(href))
      .map((href) => {
        const [page = '', fragment = ''] = href.split('#')
        return [page, decodeURIComponent(fragment)]
      }),
    loaded,
    scripts,
  }
}
