import { readFile } from 'node:fs/promises'
import { locate } from '../library.ts'
import { type ApiPages, renderApi } from './api-pages.ts'
import { renderEvents } from './events-page.ts'
import type { Installation } from './openapi.ts'

/** An interface: its pages under one title, and the documents that they were made from. */
export interface Api {
  readonly title: string
  readonly pages: ApiPages
  /** Texts by their addresses. */
  readonly documents: ReadonlyMap<string, string>
}

/** Reads the generated documents, and renders their pages with the addresses of an installation. */
export async function readApis(installation: Installation): Promise<readonly Api[]> {
  const { baseUrl, privateUrl, processorPath } = installation
  const read = async (file: string, url: string) => {
    const text = await readFile(locate(`api/${file}`), 'utf8')
    const document = JSON.parse(text.replaceAll('/thr/processor', `/thr/${processorPath}`))
    return { ...document, servers: [{ url }] }
  }
  const [forClients, forOperators, events] = await Promise.all([
    read('public.openapi.json', baseUrl),
    read('private.openapi.json', privateUrl),
    readFile(locate('api/events.asyncapi.json'), 'utf8'),
  ])
  const publicTitle = 'Public API'
  const privateTitle = 'Private API'
  const publicAddress = '/docs/api/public'
  const privateAddress = '/docs/api/private'
  const publicPages = renderApi(forClients, {
    title: publicTitle,
    address: publicAddress,
    client: '',
    installation,
  })
  const privatePages = renderApi(forOperators, {
    title: privateTitle,
    address: privateAddress,
    client: 'admin.',
    installation,
  })
  return [
    {
      title: publicTitle,
      pages: new Map([...publicPages, ['/docs/api/events', renderEvents(JSON.parse(events))]]),
      documents: new Map([
        [`${publicAddress}.json`, JSON.stringify(forClients)],
        ['/docs/api/events.json', events],
      ]),
    },
    {
      title: privateTitle,
      pages: privatePages,
      documents: new Map([[`${privateAddress}.json`, JSON.stringify(forOperators)]]),
    },
  ]
}
