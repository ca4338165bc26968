/** The documents and the references of both interfaces, as both listeners serve them at `/docs`. */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { problemKinds } from '../../src/domain/problem-kinds.ts'
import { type Answer, openTestService, type TestService } from '../support/service.ts'
import { followFragments, readPage, walkPages } from './page.ts'

const projectRoot = fileURLToPath(new URL('../../', import.meta.url))

let service: TestService
/** Every page that is found from `/docs`, by its address. */
let pages: ReadonlyMap<string, string>
/** What pages load or link to and is no page, with its media type. */
let files: ReadonlyMap<string, string>

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  ;({ files, pages } = await walkPages(open))
})

const open = (address: string, listener: 'public' | 'private' = 'public'): Promise<Answer> =>
  service.call('GET', `/${address}`, { token: null, listener })

test('every document is found from /docs, and every link on every page is alive', () => {
  const documents = globSync(['*.md', 'docs/**/*.md', 'packages/{sdk,card-element}/README.md'], {
    cwd: projectRoot,
  })
  assert.ok(documents.length > 80)
  const addresses = documents.map((path) =>
    path === 'README.md'
      ? '/docs/README'
      : `/docs/${path.replace(/^docs\//, '').replace(/(?:\/README)?\.md$/, '')}`.replace(
          '/docs/README',
          '/docs',
        ),
  )
  assert.deepEqual(
    addresses.filter((address) => !pages.has(address)),
    [],
  )
  assert.ok(pages.size > documents.length + 25, `${pages.size}`)
  assert.equal(files.get('/docs/pictures/demo.png'), 'image/png')
  assert.equal(files.get('/docs/examples/curl.sh'), 'text/plain; charset=utf-8')
})

test('every link with a fragment leads to a place of its page, and no page has an id twice', () => {
  for (const [address, text] of pages) {
    const { ids } = readPage(text)
    assert.equal(new Set(ids).size, ids.length, address)
  }
  const { dead, followed } = followFragments(pages)
  assert.deepEqual(dead, [])
  assert.ok(followed > 1_000, `${followed}`)
})

test('pages load nothing from elsewhere, and none of what they show is run', async () => {
  for (const [address, text] of pages) {
    const { loaded, scripts } = readPage(text)
    assert.deepEqual(
      loaded.filter((source) => !source.startsWith('/docs/')),
      [],
      address,
    )
    assert.deepEqual(scripts, ['/docs/assets/web/documents/main.ts'], address)
    assert.doesNotMatch(text, /<style|\sstyle=|\son\w+=/, address)
  }
  const { headers } = await open('/docs/reference/api')
  const policy = String(headers['content-security-policy'])
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
  assert.match(policy, /require-trusted-types-for 'script'; trusted-types 'none'$/)
})

test('both listeners have the documents, without a token', async () => {
  for (const address of ['/docs', '/docs/api/private/keys', '/docs/assets/documents.css']) {
    const [one, other] = await Promise.all([open(address), open(address, 'private')])
    assert.equal(other.status, 200, address)
    assert.equal(other.text, one.text, address)
  }
  assert.equal((await open('/')).headers.location, '/docs')
})

test('a page that a browser has is not sent again', async () => {
  const { headers } = await open('/docs/reference/api')
  const answer = await service.call('GET', '//docs/reference/api', {
    token: null,
    headers: { 'if-none-match': String(headers.etag) },
  })
  assert.deepEqual([answer.status, answer.text], [304, ''])
})

test('no file can be fetched but those that documents name', async () => {
  for (const address of [
    '/docs/package.json',
    '/docs/../package.json',
    '/docs/%2e%2e/package.json',
    '/docs/..%2fpackage.json',
    '/docs/src/main.ts',
    '/docs/reference/api.md',
    '/docs/assets/../../package.json',
    '/docs/assets/constructor',
    '/docs/__proto__',
    '/docs/%00',
  ]) {
    const answer = await open(address)
    assert.deepEqual([answer.status, answer.json.code], [404, 'not_found'], address)
  }
})

test('the text of a document is text, whatever it looks like', () => {
  const page = pages.get('/docs/packages/card-element') ?? ''
  assert.match(page, /&lt;script type=&quot;importmap&quot;&gt;/)
  const architecture = pages.get('/docs/ARCHITECTURE') ?? ''
  assert.ok(!architecture.includes('arrows: generated from'), 'a comment is shown')
})

test('every operation of both interfaces has its place, with a command and its errors', async () => {
  for (const name of ['public', 'private']) {
    const text = await readFile(`${projectRoot}api/${name}.openapi.json`, 'utf8')
    const { paths }: { paths: Record<string, Record<string, Operation>> } = JSON.parse(text)
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { operationId, responses, tags }] of Object.entries(operations)) {
        const [tag = ''] = tags
        const address = `/docs/api/${name}/${tag.toLowerCase().replaceAll(' ', '-')}`
        const [, section = ''] =
          new RegExp(`<section class="operation" id="${operationId}">(.*?)</section>`, 's').exec(
            pages.get(address) ?? '',
          ) ?? []
        assert.ok(section.includes(`<b>${method.toUpperCase()}</b> <code>${path}</code>`), path)
        assert.match(section, /curl -sS /)
        for (const status of Object.keys(responses)) {
          const isShown = section.includes(`>${status}</td>`) || section.includes(`<h3>${status} `)
          assert.ok(isShown, `${operationId} ${status}`)
        }
      }
    }
  }
})

interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly responses: object
}

test('every error has a section with an example, to which operations lead', () => {
  const { ids } = readPage(pages.get('/docs/reference/errors') ?? '')
  for (const code of Object.keys(problemKinds)) assert.ok(ids.includes(code), code)
  const cards = readPage(pages.get('/docs/api/public/cards') ?? '')
  const codes = cards.fragments
    .filter(([page]) => page === '/docs/reference/errors')
    .map(([, code]) => code)
  assert.ok(codes.includes('product_not_available'))
})

test('a search finds the sections that have every word, the best first, and shows its text as text', async () => {
  const search = async (text: string) =>
    (await open(`/docs/search?text=${encodeURIComponent(text)}`)).text
  const first = /<ol class="results"><li>\s*<a href="([^"]+)"/
  assert.equal(first.exec(await search('weak_pin'))?.[1], '/docs/reference/errors#weak_pin')
  assert.equal(first.exec(await search('Idempotency'))?.[1], '/docs/reference/api#idempotency')
  assert.equal(first.exec(await search('create card'))?.[1], '/docs/api/public/cards#createCard')
  assert.match(await search('nameOnCard'), /\/docs\/api\/public\/cards#createCard/)
  assert.match(await search('zzz-nothing'), /No section contains “zzz-nothing”\./)
  assert.match(await search('  '), /Enter one or several words\./)
  const hostile = await search('"><script>alert(1)</script> (a+)+$')
  assert.ok(!hostile.includes('<script>alert'))
  assert.match(hostile, /value="&quot;&gt;&lt;script&gt;/)
})

test('a search puts whole words before parts of words, and marks the whole words of an excerpt', async () => {
  const { text } = await open('/docs/search?text=blocked')
  const at = (title: string): number => text.indexOf(`<b>${title}</b>`)
  assert.ok(at('cvv.blocked') > 0)
  assert.ok(at('cvv.blocked') < at('pin.unblocked'))
  const excerpts = text.split('<li>').filter((item) => item.includes('<mark>Blocked</mark>'))
  assert.ok(excerpts.some((item) => item.includes('Unblocked&quot;')))
})

test('a table has its numbers at the right, and a label of the column in each cell', () => {
  const scaling = pages.get('/docs/explanation/scaling') ?? ''
  assert.match(scaling, /<th class="number">indexes<\/th>/)
  assert.match(scaling, /<td class="number" data-label="rows">455 MB<\/td>/)
  assert.match(scaling, /<table class="stacked">\s*<thead><tr><th>part<\/th><th>ceiling<\/th>/)
  assert.match(scaling, /<code>pinfold_<wbr>delivery_<wbr>lag_<wbr>seconds<\/code>/)
})

test('the addresses of the references are those of the installation', async () => {
  const service = await openTestService({
    env: { PROCESSOR_PATH: 'thredd', BASE_URL: 'http://localhost:9090', RATE_LIMIT: 'off' },
  })
  const page = await service.call('GET', '//docs/api/public/products', {
    token: null,
    headers: { host: 'localhost:9090' },
  })
  assert.match(page.text, /curl -sS &quot;http:\/\/localhost:9090\/thr\/thredd\/products&quot;/)
})
