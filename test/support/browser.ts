/**
 * A browser as far as sign-ins need one: it keeps cookies by host and path, follows redirects, and
 * sends forms.
 */

/** What a page answered, with where that was. */
export type BrowserAnswer = {
  status: number
  url: string
  headers: Headers
  text: string
}

type Cookie = { value: string; path: string }

export type Browser = {
  /** By `host name`: browsers do not tell ports apart. */
  cookies: Map<string, Cookie>
  /** Follows redirects to the end. */
  visit: (url: string, init?: RequestInit) => Promise<BrowserAnswer>
  /** One request, with no redirect followed. */
  ask: (url: string, init?: RequestInit) => Promise<BrowserAnswer>
  /** Sends a form as a page of the same origin does. */
  send: (
    url: string,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<BrowserAnswer>
}

export const openBrowser = (): Browser => {
  const cookies: Browser['cookies'] = new Map()
  const ask: Browser['ask'] = async (url, init = {}) => {
    const { hostname, pathname } = new URL(url)
    const sent = [...cookies]
      .filter(([name, { path }]) => name.startsWith(`${hostname} `) && isUnder(pathname, path))
      .map(([name, { value }]) => `${name.split(' ')[1]}=${value}`)
    const answer = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: {
        'sec-fetch-site': 'same-origin',
        'sec-fetch-dest': 'document',
        ...(sent.length > 0 && { cookie: sent.join('; ') }),
        ...(init.headers as Record<string, string>),
      },
    })
    for (const line of answer.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ')
      const [name = '', ...value] = pair.split('=')
      const attribute = (key: string) =>
        attributes.find((each) => each.toLowerCase().startsWith(`${key}=`))?.slice(key.length + 1)
      const isOver =
        attribute('max-age') === '0' ||
        new Date(attribute('expires') ?? '9999-01-01').getTime() <= Date.now()
      if (isOver) cookies.delete(`${hostname} ${name}`)
      else {
        cookies.set(`${hostname} ${name}`, {
          value: value.join('='),
          path: attribute('path') ?? '/',
        })
      }
    }
    return { status: answer.status, url, headers: answer.headers, text: await answer.text() }
  }
  const visit: Browser['visit'] = async (url, init) => {
    let answer = await ask(url, init)
    for (let hops = 0; answer.headers.has('location'); hops += 1) {
      if (hops > 20) throw new Error(`Sent round in a circle: ${answer.url}`)
      answer = await ask(new URL(answer.headers.get('location') ?? '', answer.url).href)
    }
    return answer
  }
  return {
    cookies,
    ask,
    visit,
    send: (url, fields, headers = {}) =>
      visit(url, {
        method: 'POST',
        body: new URLSearchParams(fields).toString(),
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          origin: new URL(url).origin,
          ...headers,
        },
      }),
  }
}

const isUnder = (path: string, folder: string): boolean =>
  folder === '/' || path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)

/** The hidden fields of a page's forms: those of the last one, where several have the same. */
export const hiddenFields = ({ text }: BrowserAnswer): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  )
