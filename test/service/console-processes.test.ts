/**
 * People in several processes: a session is in the database alone, and a process that was away
 * knows nothing better.
 */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type Browser, hiddenFields, openBrowser } from '../support/browser.ts'
import { openPostgres } from '../support/postgres.ts'
import { openServerFolder, type Program, startProgram } from '../support/process.ts'
import { until } from '../support/until.ts'

const postgres = await openPostgres()

/** Each request on a connection of its own, so that any process may get it. */
const apart = { headers: { connection: 'close' } }

suite('in two processes on one server', { skip: postgres.leftOut }, () => {
  let program: Program
  before(async () => {
    const folder = await openServerFolder(postgres)
    const env = { ...folder.env, PROCESSES: '2', OPEN_RATE_PER_SECOND: '1000' }
    program = await startProgram({ ...folder, env })
  })
  after(() => program.kill('SIGKILL'))

  const link = (at: number): string => program.sandbox.people[at]?.signInUrl ?? ''
  const home = (): string => `${program.privateUrl}/console`

  const pidOf = (number: number): number => {
    const lines = program.stdout().matchAll(/^\{.*"a process is ready"\}$/gm)
    const ready = [...lines].map(([line]) => JSON.parse(line) as { process: number; pid: number })
    const found = ready.find(({ process }) => process === number)
    // A signal to 0 would stop all tests.
    if (!found) throw new Error(`Process ${number} is not ready.`)
    return found.pid
  }

  const answeredBy = async (number: number): Promise<number> => {
    const metrics = await (await fetch(`${program.privateUrl}/metrics`, apart)).text()
    const line = new RegExp(
      `^pinfold_http_request_duration_seconds_count\\{[^}]*route="/console"[^}]*process="${number}"\\} (\\d+)$`,
      'gm',
    )
    return [...metrics.matchAll(line)].reduce((sum, [, count]) => sum + Number(count), 0)
  }

  test('a sign-in whose steps any of them gets is one sign-in, and its session is open in both', async () => {
    for (let round = 0; round < 6; round += 1) {
      const browser = openBrowser()
      const page = await browser.visit(link(round), apart)
      assert.equal(page.status, 200, page.text)
      assert.ok(page.text.includes(program.sandbox.people[round]?.name ?? 'nobody'))
      for (let call = 0; call < 8; call += 1) {
        assert.equal((await browser.ask(home(), apart)).status, 200)
      }
    }
    // By chance all may go to one of two: once in 2 to the power of 47 times.
    for (const number of [1, 2]) assert.ok((await answeredBy(number)) > 0, `process ${number}`)
  })

  /** Asks until a process that works gets it: a connection that the other one has is given up. */
  const asked = async (ask: (signal: AbortSignal) => Promise<{ status: number; text: string }>) => {
    for (;;) {
      try {
        return await ask(AbortSignal.timeout(4_000))
      } catch (error) {
        if (!(error instanceof DOMException)) throw error
      }
    }
  }

  const signOut = async (browser: Browser) => {
    const page = await asked((signal) => browser.ask(home(), { ...apart, signal }))
    const body = new URLSearchParams(hiddenFields(page as never)).toString()
    const headers = {
      ...apart.headers,
      'content-type': 'application/x-www-form-urlencoded',
      origin: program.privateUrl,
    }
    const out = { method: 'POST', body, headers }
    return asked((signal) => browser.ask(`${home()}/sign-out`, { ...out, signal }))
  }

  test('a session that ended while a process was suspended is over there, too, when it goes on', async () => {
    const browser = openBrowser()
    await browser.visit(link(0), apart)
    const kept = [...browser.cookies]
    for (let call = 0; call < 20; call += 1) await browser.ask(home(), apart)
    const pid = pidOf(2)
    process.kill(pid, 'SIGSTOP')
    try {
      assert.match((await signOut(browser)).text, /signed out/)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    const copy = openBrowser()
    for (const [name, cookie] of kept) copy.cookies.set(name, cookie)
    for (let call = 0; call < 30; call += 1) {
      assert.equal((await copy.ask(home(), apart)).status, 303)
    }
  })

  test('sessions go on, and people sign in later, while the sandbox’s issuer is suspended', async () => {
    const browser = openBrowser()
    await browser.visit(link(1), apart)
    const pid = pidOf(1)
    process.kill(pid, 'SIGSTOP')
    try {
      const page = await asked((signal) => browser.ask(home(), { ...apart, signal }))
      assert.equal(page.status, 200)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await until(async () => (await openBrowser().visit(link(2), apart)).status === 200)
  })
})
