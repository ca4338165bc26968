import assert from 'node:assert/strict'

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

/** What an address answers with. */
export interface Opened {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/**
 * Opens every page and file that can be reached from `/docs`, and fails at the first dead one.
 * @returns the text of each page and the media type of each file, by their addresses
 */
export async function walkPages(open: (address: string) => Promise<Opened>) {
  const pages = new Map<string, string>()
  const files = new Map<string, string>()
  let wanted: readonly string[] = ['/docs']
  while (wanted.length > 0) {
    for (const address of wanted) {
      const { headers, status, text } = await open(address)
      assert.equal(status, 200, address)
      const type = String(headers['content-type'])
      if (type.startsWith('text/html')) pages.set(address, text)
      else files.set(address, type)
    }
    const linked = [...pages.values()].flatMap((text) => readPage(text).addresses)
    wanted = [...new Set(linked)].filter((address) => !pages.has(address) && !files.has(address))
  }
  return { pages, files }
}

/** Looks for the place of every link with a fragment. */
export function followFragments(pages: ReadonlyMap<string, string>) {
  const ids = new Map([...pages].map(([address, text]) => [address, readPage(text).ids] as const))
  const dead: string[] = []
  let followed = 0
  for (const [address, text] of pages) {
    for (const [page, fragment] of readPage(text).fragments) {
      const target = page === '' ? address : page
      if (!ids.get(target)?.includes(fragment)) dead.push(`${address}: ${target}#${fragment}`)
      followed += 1
    }
  }
  return { dead, followed }
}
