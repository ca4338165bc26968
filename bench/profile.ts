/**
 * Where a call's processor time goes in the service: `npm run bench -- profile --only 'Set PIN'`.
 * Calls the operations whose name has these words in it, each for `--seconds 5` after a warm-up,
 * and prints what each room, package and part of Node took of a call, by V8's own samples. What the
 * service waits for is no part of it. `--embedded` puts the embedded database, which is in the same
 * process, instead of a server.
 */
import { parseArgs } from 'node:util'
import { issueCards } from './network.ts'
import { callFor, type Scenario, type Subject, scenarios } from './operations.ts'
import { freePort, headersFor, runBench } from './support.ts'

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seconds: { type: 'string', default: '5' },
    parts: { type: 'string', default: '14' },
    embedded: { type: 'boolean', default: false },
  },
})

/** The result of `Profiler.stop` (Chrome DevTools Protocol); times in microseconds. */
interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string }
    readonly children?: readonly number[]
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** Opens a session with a process's inspector; one request at a time. */
async function openInspector(port: number) {
  const list = await fetch(`http://127.0.0.1:${port}/json/list`)
  const [target] = (await list.json()) as { webSocketDebuggerUrl: string }[]
  if (!target) throw new Error('The service has no inspector.')
  const socket = new WebSocket(target.webSocketDebuggerUrl)
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true })
    socket.addEventListener('error', reject, { once: true })
  })
  let last = 0
  const ask = (method: string, params: object = {}): Promise<{ profile: Profile }> => {
    last += 1
    socket.send(JSON.stringify({ id: last, method, params }))
    return new Promise((resolve) => {
      socket.addEventListener('message', ({ data }) => resolve(JSON.parse(String(data)).result), {
        once: true,
      })
    })
  }
  return { ask, close: () => socket.close() }
}

/** Returns the room of this folder, the package, or the part of Node; native functions by name. */
function findPart({ functionName, url }: Profile['nodes'][number]['callFrame'], caller: string) {
  const [, room] = /\/(src\/(?:\w[\w-]*\/){0,2})/.exec(url) ?? []
  const [, packageName] =
    /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(url) ?? []
  if (packageName) return packageName
  if (room) return room
  if (url.startsWith('node:')) return url.replace(/^(node:(?:internal\/)?[^/]+).*$/, '$1')
  if (functionName.startsWith('(')) return functionName
  // V8's own entries count for their callers; sockets and ciphers have names.
  return /^(writev|writeBuffer|writeUtf8String|writeLatin1String|update|final|shutdown)$/.test(
    functionName,
  )
    ? `native ${functionName}`
    : caller
}

/** Returns the microseconds of each part. */
function sumTimes({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parts = new Map<number, string>()
  const walk = (id: number, caller: string): void => {
    const node = byId.get(id)
    if (!node) return
    const part = findPart(node.callFrame, caller)
    parts.set(id, part)
    for (const child of node.children ?? []) walk(child, part)
  }
  walk(nodes[0]?.id ?? 1, '(root)')
  const times = new Map<string, number>()
  for (const [index, id] of samples.entries()) {
    const part = parts.get(id) ?? '(unknown)'
    times.set(part, (times.get(part) ?? 0) + (timeDeltas[index] ?? 0))
  }
  times.delete('(idle)')
  return times
}

const seconds = Number(options.seconds)

async function profile(
  scenario: Scenario,
  subject: Subject,
  { ask }: Awaited<ReturnType<typeof openInspector>>,
): Promise<void> {
  await callFor(Math.max(1, seconds / 2), scenario, subject)
  await ask('Profiler.enable')
  await ask('Profiler.setSamplingInterval', { interval: 200 })
  await ask('Profiler.start')
  const result = await callFor(seconds, scenario, subject)
  const times = sumTimes((await ask('Profiler.stop')).profile)
  const all = [...times.values()].reduce((sum, time) => sum + time, 0)
  const calls = result['2xx']
  const each = (all / calls).toFixed(0)
  console.log(`${scenario.name}: ${result.requests.average}/s, ${each} µs of the service each`)
  const rows = [...times].sort(([, one], [, other]) => other - one)
  console.table(
    rows.slice(0, Number(options.parts)).map(([part, time]) => ({
      part,
      'µs a call': (time / calls).toFixed(1),
      '%': ((100 * time) / all).toFixed(1),
    })),
  )
}

await runBench(async (bench) => {
  const port = await freePort()
  const service = await bench.startService({
    NODE_OPTIONS: `--inspect=127.0.0.1:${port}`,
    ...(options.embedded && { DATABASE_URL: '' }),
  })
  const inspector = await openInspector(port)
  const subject: Subject = {
    service,
    headers: await headersFor(service),
    networkHeaders: await headersFor(service, service.sandbox.network),
    cards: await issueCards(service, 128),
  }
  const words = options.only.toLowerCase()
  for (const scenario of scenarios) {
    if (scenario.name.toLowerCase().includes(words)) await profile(scenario, subject, inspector)
  }
  inspector.close()
})
