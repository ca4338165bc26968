/**
 * Random requests to every route of both listeners, made from the routes' own schemas, and each
 * answer held against the document. `FUZZ_RUNS` says how many, `FUZZ_SEED` which,
 * `FUZZ_ENGINE=postgres` on which engine.
 */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { isNightly } from '../support/cases.ts'
import { openWithRoutes, type Route } from '../support/routes.ts'
import { bookOf, faultsOf, isForeign, type Matched, type RouteBook } from './faults.ts'
import { type Plan, plans } from './requests.ts'
import { openWorld, settle, type World } from './world.ts'

const runs = Number(process.env.FUZZ_RUNS ?? (isNightly ? 3_000 : 1_000))
const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31))
const engine = process.env.FUZZ_ENGINE ?? 'pglite'
/** What is sampled at once is held at once, and the world is renewed in between. */
const batchSize = 250

let world: World
let book: RouteBook
/** What the request that is sent now was answered by: none where nothing is. */
const matches: Omit<Matched, 'listener'>[] = []

before(async () => {
  const { routes, service } = await openWithRoutes(
    () => openWorld(engine === 'postgres'),
    (server) => {
      server.addHook('onRequest', async ({ is404, method, routeOptions: { url } }) => {
        if (!is404 && url) matches.push({ url, method })
      })
      server.addHook('onSend', async ({ method, refusedPattern }) => {
        if (refusedPattern) matches.push({ url: refusedPattern, method })
      })
    },
  )
  const documentOf = async (listener: Route['listener']) =>
    (await service.call('GET', '//openapi.json', { listener, token: null })).json
  book = bookOf(routes, {
    public: await documentOf('public'),
    private: await documentOf('private'),
  })
  world = await settle(service)
})

test('every answer, whatever was sent, is one that the document of its route knows', async (t) => {
  // A stream does not end.
  const targets = book.routes.filter(
    ({ method, url }) => method !== 'HEAD' && !url.endsWith('/stream'),
  )
  const any = fc.oneof(
    ...targets.map((route) => ({ weight: isForeign(route) ? 1 : 5, arbitrary: plans(route) })),
  )
  const tally = newTally()
  const startedMs = performance.now()
  for (let batch = 0; batch * batchSize < runs; batch += 1) {
    await world.renew()
    const numRuns = Math.min(batchSize, runs - batch * batchSize)
    for (const plan of fc.sample(any, { numRuns, seed: seed + batch * 1_000_003 })) {
      tally.count(plan, await run(plan))
    }
  }
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
  t.diagnostic(
    `${runs} requests to ${targets.length} routes in ${seconds} s, seed ${seed}, on ${engine}`,
  )
  t.diagnostic(`${tally.succeeded()} routes did what they are for`)
  t.diagnostic(`answers by status: ${tally.statuses()}`)
  const found = tally.found()
  assert.ok(found.length === 0, `FUZZ_SEED=${seed} FUZZ_RUNS=${runs}\n${found.join('\n')}`)
})

interface Ran {
  readonly status: number
  readonly faults: readonly string[]
  readonly shown: string
}

/** Counts answers, and keeps one request for each kind of fault. */
const newTally = () => {
  const faults = new Map<string, string>()
  const statuses = new Map<number, number>()
  const successful = new Set<object>()
  return {
    count({ method, route }: Plan, { faults: own, shown, status }: Ran) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (status < 400) successful.add(route)
      for (const fault of own) {
        const key = `${route.listener} ${method} ${route.url}: ${fault}`
        if (!faults.has(key)) faults.set(key, shown)
      }
    },
    succeeded: () => successful.size,
    statuses: () =>
      [...statuses]
        .sort(([one], [other]) => one - other)
        .map(([status, count]) => `${status} ${count}`)
        .join(', '),
    found: () => [...faults].map(([fault, shown]) => `${fault}\n    ${shown}`),
  }
}

async function run(plan: Plan): Promise<Ran> {
  const { as, method, route } = plan
  const { fill, service, tokenOf } = world
  const path = fill(`${plan.path}${plan.query && `?${plan.query}`}`)
  const body = plan.body === null ? null : fill(plan.body)
  const headers = Object.fromEntries(
    Object.entries(plan.headers).map(([name, value]) => [name, fill(value)]),
  )
  matches.length = 0
  const server = route.listener === 'public' ? service.publicServer : service.privateServer
  const {
    headers: answerHeaders,
    payload: text,
    statusCode: status,
  } = await server.inject({
    method: method as 'GET',
    url: path,
    headers: {
      host: '127.0.0.1:8080',
      ...(as !== null && { authorization: `Bearer ${tokenOf(as)}` }),
      ...headers,
    },
    ...(body !== null && { payload: body }),
  })
  const [matched] = matches
  const faults = faultsOf(
    book,
    { method, url: path, body },
    matched ? { ...matched, listener: route.listener } : null,
    { status, headers: answerHeaders, text },
  )
  const request = [method, path.slice(0, 300), as, JSON.stringify(headers), body?.slice(0, 400)]
  return { status, faults, shown: `${request.join(' ')} -> ${text.slice(0, 300)}` }
}
