import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Connection } from '../../../src/storage/engine/database.ts'
import { makePinBlock } from '../../reference/pin-blocks.ts'
import { ageUnansweredKeys } from '../../support/builders.ts'
import { ask, type NamedBlock, otherDigits } from '../../support/network.ts'
import type { Program } from '../../support/process.ts'
import { sql, type TestService } from '../../support/service.ts'

/** A burst of questions at programs of which one is killed in the middle, and what came of it. */

/** A program and the demo network's token for it. */
export type Victim = { program: Program; token: string }

/** Whom questions go to: a program, or a service of this process. */
export type Asker = Victim | TestService

const sandboxOf = (asker: Asker) => ('program' in asker ? asker.program.sandbox : asker.sandbox)

export type Answered = { status: number; replayed: boolean; text: string; responseCode: string }

export type Asked = {
  key: string
  reference: string
  question: object
  /** Null where the connection ended without an answer. */
  answer: Answered | null
}

export const withToken = async (program: Program): Promise<Victim> => {
  const { clientId, clientSecret } = program.sandbox.network
  const response = await fetch(`${program.baseUrl}/oauth/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
    },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const { access_token: token } = (await response.json()) as { access_token: string }
  return { program, token }
}

/** A block that is bound to no PAN, so that the PIN is all that one must know. */
const blockOf = (asker: Asker, pin: string): NamedBlock => {
  const value = sandboxOf(asker)?.network.zoneKeys.find(({ key }) => key === 'zone-a')?.value ?? ''
  const key = Buffer.from(value, 'hex')
  const bytes = makePinBlock(pin, { format: 1, pan: '', key })
  return { format: 'ISO_FORMAT_1', key: 'zone-a', data: bytes.toString('hex') }
}

/** Wrong PINs with a right one here and there, each under a key of its own. */
export const planBurst = (
  asker: Asker,
  { pin, publicToken }: { pin: string; publicToken: string },
  count: number,
): Asked[] =>
  Array.from({ length: count }, (_, index) => {
    const key = randomUUID()
    const reference = `R-${key.replace(/[0-9]/g, 'x').slice(0, 30)}-${index}`.slice(0, 35)
    const tried = index % 5 === 4 ? pin : otherDigits(pin)
    const question = {
      publicToken,
      entryMode: 'chip',
      reference,
      pinBlock: blockOf(asker, tried),
    }
    return { key, reference, question, answer: null }
  })

/** Sends one question. @returns null where the program ended before it answered. */
export const send = async (asker: Asker, asked: Asked): Promise<Answered | null> => {
  try {
    const { isReplay, status, text } = await post(asker, asked)
    const { code, responseCode } = JSON.parse(text)
    return { status, replayed: isReplay === 'true', text, responseCode: responseCode ?? code }
  } catch {
    return null
  }
}

const post = async (asker: Asker, { key, question }: Asked) => {
  const name = 'idempotency-replayed'
  if (!('program' in asker)) {
    const answer = await ask(asker, question, { headers: { 'idempotency-key': key } })
    return { status: answer.status, text: answer.text, isReplay: answer.headers[name] }
  }
  const response = await fetch(`${asker.program.privateUrl}/network/authorizations`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${asker.token}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify(question),
  })
  const text = await response.text()
  return { status: response.status, text, isReplay: response.headers.get(name) }
}

/** Kills the last program of those that are asked, at the moment of its choice. */
export type Killer = (burst: {
  victim: Program
  /** How many questions have been answered, or cannot be any more. */
  answered: () => number
  /** Resolves when the other programs have answered all that was asked of them. */
  othersDone: Promise<unknown>
  allDone: Promise<unknown>
}) => Promise<unknown>

/** Sends all at once, in turn to each, and has the last one killed meanwhile. */
export const burstAndKill = async (
  askers: readonly [...Asker[], Victim],
  plan: readonly Asked[],
  kill: Killer,
): Promise<Asked[]> => {
  const last = askers.at(-1) as Victim
  let answered = 0
  const sent = plan.map((each, index) => {
    const target = askers[index % askers.length] ?? last
    const asked = send(target, each).then((answer) => {
      answered += 1
      return { ...each, answer }
    })
    return { target, asked }
  })
  const all = Promise.all(sent.map(({ asked }) => asked))
  const others = sent.filter(({ target }) => target !== last).map(({ asked }) => asked)
  await kill({
    victim: last.program,
    answered: () => answered,
    othersDone: Promise.all(others),
    allDone: all,
  })
  return all
}

/** Kills when so many questions have been answered. */
export const killAfter =
  (answers: number): Killer =>
  async ({ answered, victim }) => {
    while (answered() < answers) await delay(1)
    await victim.kill('SIGKILL')
  }

/**
 * Kills between a spend of the victim and its result: it is made to stand still, again and again,
 * until the others are done and the database still knows of a try without a result, which is then
 * the victim's. On a server, where others can look meanwhile.
 */
export const killAmidTry =
  (database: Connection, application: string, publicTokens: readonly string[]): Killer =>
  async ({ allDone, answered, othersDone, victim }) => {
    let isOver = false
    allDone.then(() => (isOver = true))
    while (answered() === 0) await delay(1)
    while (!isOver) {
      process.kill(victim.pid, 'SIGSTOP')
      await untilIdle(database, application)
      await othersDone
      const open = await sql(
        database,
        `select from attempt where result = 'unresolved' and public_token = any($1)`,
        [publicTokens],
      )
      if (open.length > 0) break
      process.kill(victim.pid, 'SIGCONT')
      await delay(2)
    }
    await victim.kill('SIGKILL')
  }

/** What a program that stands still has sent already its sessions at the server still do. */
const untilIdle = (database: Connection, application: string): Promise<void> =>
  untilNone(database, "application_name = $1 and state = 'active'", application)

/** The same of one that is no more. */
export const untilForgotten = (database: Connection, application: string): Promise<void> =>
  untilNone(database, 'application_name = $1', application)

const untilNone = async (
  database: Connection,
  condition: string,
  application: string,
): Promise<void> => {
  const sessions = `select from pg_stat_activity where ${condition}`
  while ((await sql(database, sessions, [application])).length > 0) await delay(1)
}

/** Makes everything that a lost process left look 31 seconds older. */
export const ageWhatWasLost = async (database: Connection): Promise<void> => {
  await ageUnansweredKeys(database)
  await sql(
    database,
    `update try_counter set open_since = array(
       select case since when 0 then 0 else least(since, $1::bigint) - 31000000 end
       from unnest(open_since) with ordinality as each (since, place) order by place
     ) where cardinality(open_since) > 0`,
    [Date.now() * 1_000],
  )
}

/** Fails unless a repeat told what the first told, or that the first was lost, or was the first. */
export const assertRepeated = (first: Asked, repeat: Answered | null): void => {
  assert.ok(repeat, 'the program that lives answers')
  assert.equal(repeat.status, 200, repeat.text)
  if (first.answer?.status !== 200) return
  assert.equal(repeat.replayed, true)
  assert.equal(repeat.text, first.answer.text)
}
