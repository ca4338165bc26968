import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { xor } from '../../../src/crypto/refusal.ts'
import { derivePersonId } from '../../../src/domain/person.ts'
import { computeKeyCheckValue } from '../../../src/hsm/keys/key-check.ts'
import { enterComponent } from '../../../src/operations/keys/enter-component.ts'
import { type Answer, openTestService, sql, type TestService } from '../../support/service.ts'
import {
  type Administrator,
  newAdministrator,
  registeredBy,
  rootOf,
  signIn,
} from '../clients/administer.ts'

let service: TestService
let root: Administrator
let otherRoot: Administrator

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  root = await rootOf(service, 'root')
  otherRoot = await rootOf(service, 'other-root')
})

let made = 0
/** A name that no client of this file has. */
const named = (name: string): string => {
  made += 1
  return `${name}-${made}`
}

const parts = [randomBytes(32), randomBytes(32), randomBytes(32)]

/** Opens the entry of a zone master key. */
const open = async (opener: Administrator, componentCount: 2 | 3 = 2): Promise<string> => {
  const value = parts.slice(0, componentCount).reduce((a, b) => Buffer.from(xor(a, b)))
  const { json, text } = await opener.call('POST', '/component-entries', {
    family: 'zone-master',
    key: named('zmk'),
    algorithm: 'AES',
    lengthBytes: 32,
    componentCount,
    keyCheckValue: computeKeyCheckValue('A', value),
  })
  assert.ok(json.entryId, text)
  return json.entryId
}

const enter = (entryId: string, who: Administrator, at: 0 | 1 | 2): Promise<Answer> => {
  const component = parts[at] ?? Buffer.alloc(0)
  return who.call('POST', `/component-entries/${entryId}/components`, {
    person: `Person ${at}`,
    component: component.toString('hex'),
    keyCheckValue: computeKeyCheckValue('A', component),
  })
}

/** Whether two complete a ceremony that the first one opens. */
const complete = async (one: Administrator, other: Administrator): Promise<Answer> => {
  const entryId = await open(one)
  const first = await enter(entryId, one, 0)
  assert.equal(first.status, 200, first.text)
  return enter(entryId, other, 1)
}

const assertRefused = ({ json, status, text }: Answer, why: RegExp): void => {
  assert.deepEqual([status, json.code], [422, 'key_refused'], text)
  assert.match(json.detail, why)
}

const confirm = (by: Administrator, clientId: string, credentialsVersion = 1): Promise<Answer> =>
  by.call('POST', `/clients/${clientId}/confirm`, { credentialsVersion })

/**
 * As if the credentials had been changed so long ago that no token from before is good any more.
 */
const letTokensExpire = async (clientId: string): Promise<void> => {
  await sql(
    service.database,
    `update client set credentials_changed_at = now() - interval '2 hours' where client_id = $1`,
    [clientId],
  )
  await sql(
    service.database,
    `update client set previous_secret_until = now() - interval '1 day'
     where client_id = $1 and previous_secret_until is not null`,
    [clientId],
  )
}

const details = ({ json }: Answer): string =>
  json.errors?.map((each: { detail: string }) => each.detail).join('; ')

test('one administrator who registers another cannot enter both components, nor by a third of theirs', async () => {
  const puppet = await registeredBy(service, root, named('puppet'))
  assertRefused(await complete(root, puppet), /^root could act as both root and puppet-\d+/)
  assertRefused(await complete(puppet, root), /^root could act as both/)
  const puppetOfPuppet = await registeredBy(service, puppet, named('puppet'))
  assertRefused(await complete(root, puppetOfPuppet), /^root could act as both/)
  const another = await registeredBy(service, root, named('puppet'))
  assertRefused(await complete(puppetOfPuppet, another), /^root could act as both/)
  const [act] = (await root.call('GET', '/keys/acts?limit=1')).json
  assert.match(act.act, /^component of Person 1 refused: root could act as both/)
  assert.equal(act.clientId, another.clientId)
})

test('nor with an administrator whose secret, keys, scopes or access they set', async () => {
  const change = async (victim: string, members: object) => {
    const changed = await root.call('PATCH', `/clients/${victim}`, members)
    assert.equal(changed.status, 200, changed.text)
  }
  const takenOver = async (by: (victim: string) => Promise<string | undefined>) => {
    const victim = named('victim')
    await rootOf(service, victim)
    const secret = (await by(victim)) ?? `secret of ${victim}`
    return signIn(service, victim, secret)
  }
  const bySecret = await takenOver(async (victim) => {
    const rotated = await root.call('POST', `/clients/${victim}/rotate-secret`)
    return rotated.json.clientSecret
  })
  assertRefused(await complete(root, bySecret), /^root could act as both/)
  const byAccess = await takenOver(async (victim) => {
    await change(victim, { active: false })
    await change(victim, { active: true })
    return undefined
  })
  assertRefused(await complete(root, byAccess), /^root could act as both/)
  const byScopes = await takenOver(async (victim) => {
    await change(victim, { scopes: [] })
    await change(victim, { scopes: ['admin'] })
    return undefined
  })
  assertRefused(await complete(root, byScopes), /^root could act as both/)
  const keyed = named('victim')
  await rootOf(service, keyed)
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }
  await change(keyed, { jwks: jwk })
  assert.deepEqual((await otherRoot.call('GET', `/clients/${keyed}`)).json.controlledBy, ['root'])
})

test('nor by letting one of theirs, or one whose secret they set, confirm another of theirs', async () => {
  const puppet = await registeredBy(service, root, named('puppet'))
  const witness = await registeredBy(service, root, named('witness'))
  const byWitness = await confirm(witness, puppet.clientId)
  assert.match(details(byWitness), /^has no effect: root could act as both of you$/)
  const victim = named('victim')
  await rootOf(service, victim)
  const { json } = await root.call('POST', `/clients/${victim}/rotate-secret`)
  const asVictim = await signIn(service, victim, json.clientSecret)
  assert.match(details(await confirm(asVictim, puppet.clientId)), /^has no effect/)
  assertRefused(await complete(root, puppet), /^root could act as both/)
})

test('nor by a client that registered another, once that client is confirmed', async () => {
  const borrowed = await registeredBy(service, root, named('borrowed'))
  const puppet = await registeredBy(service, borrowed, named('puppet'))
  assert.equal((await confirm(otherRoot, borrowed.clientId)).status, 200)
  assertRefused(await complete(root, puppet), /^root could act as both/)
})

test('nor with a component that they entered as another, once that one is confirmed', async () => {
  const puppet = await registeredBy(service, root, named('puppet'))
  const entryId = await open(root)
  assert.equal((await enter(entryId, puppet, 0)).status, 200)
  assert.equal((await confirm(otherRoot, puppet.clientId)).status, 200)
  assertRefused(await enter(entryId, root, 1), /^root could act as both/)
})

test('nobody confirms itself, what it registered, or what needs no confirmation', async () => {
  const one = await registeredBy(service, root, named('one'))
  assert.match(details(await confirm(one, one.clientId)), /did not register this client/)
  assert.match(details(await confirm(root, one.clientId)), /did not register this client/)
  await otherRoot.call('POST', `/clients/${one.clientId}/rotate-secret`, { overlapHours: 0 })
  await letTokensExpire(one.clientId)
  assert.match(details(await confirm(otherRoot, one.clientId, 2)), /did not register this client/)
  assert.match(details(await confirm(root, 'other-root')), /^is not needed/)
  assert.match(details(await confirm(root, 'demo-client')), /^is for administrators only/)
  assert.equal((await confirm(root, 'nobody')).status, 404)
})

test('two whom the configuration names complete a ceremony, and one of each side, and three of three', async () => {
  assert.equal((await complete(root, otherRoot)).status, 200)
  const mine = await registeredBy(service, root, named('mine'))
  const theirs = await registeredBy(service, otherRoot, named('theirs'))
  assert.equal((await complete(mine, theirs)).status, 200)
  const third = await rootOf(service, named('third'))
  const entryId = await open(root, 3)
  assert.equal((await enter(entryId, root, 0)).status, 200)
  assert.equal((await enter(entryId, theirs, 1)).status, 200)
  assertRefused(await enter(entryId, mine, 2), /^root could act as both root and mine/)
  assertRefused(await enter(entryId, otherRoot, 2), /^other-root could act as both/)
  const last = await enter(entryId, third, 2)
  assert.deepEqual([last.status, last.json.key?.family], [200, 'zone-master'], last.text)
})

test('whom an independent administrator confirmed is another person, and the entry shows by whom', async () => {
  const one = await registeredBy(service, root, named('one'))
  const confirmed = await confirm(otherRoot, one.clientId)
  assert.equal(confirmed.status, 200, confirmed.text)
  assert.deepEqual(
    [confirmed.json.createdBy, confirmed.json.confirmedBy, confirmed.json.controlledBy],
    ['root', ['other-root'], []],
  )
  const { json: read } = await root.call('GET', `/clients/${one.clientId}`)
  assert.deepEqual(Object.keys(read.actorNames).sort(), ['other-root', 'root'])
  const entryId = await open(root)
  await enter(entryId, one, 0)
  const seen = await root.call('GET', `/component-entries/${entryId}`)
  assert.deepEqual(seen.json.entered, [
    {
      componentNumber: 1,
      person: 'person 0',
      clientId: one.clientId,
      createdBy: 'root',
      confirmedBy: ['other-root'],
      controlledBy: [one.clientId],
    },
  ])
  assert.equal((await enter(entryId, root, 1)).status, 200)
  // And who confirmed it is as good a second person.
  assert.equal((await complete(one, otherRoot)).status, 200)
  const { json: keyActs } = await root.call('GET', '/keys/acts')
  const line = 'component entered by Person 0, created by root, confirmed by other-root'
  assert.ok(keyActs.some(({ act }: { act: string }) => act === line))
  const { json: acts } = await root.call('GET', '/acts')
  const act = acts.find(
    (each: { act: string; subject: string }) =>
      each.act === 'confirmed' && each.subject === one.clientId,
  )
  assert.deepEqual([act.clientId, act.details.credentialsVersion], ['other-root', 1])
})

test('other credentials from another void a confirmation; one’s own do not', async () => {
  const one = await registeredBy(service, root, named('one'))
  await confirm(otherRoot, one.clientId)
  const rotate = (by: Administrator) =>
    by.call('POST', `/clients/${one.clientId}/rotate-secret`, { overlapHours: 0 })
  const own = await rotate(one)
  assert.equal(
    (await complete(root, await signIn(service, one.clientId, own.json.clientSecret))).status,
    200,
  )
  const theirs = await rotate(root)
  const after = await root.call('GET', `/clients/${one.clientId}`)
  assert.deepEqual([after.json.confirmedBy, after.json.credentialsVersion], [[], 3])
  assertRefused(
    await complete(root, await signIn(service, one.clientId, theirs.json.clientSecret)),
    /^root could act as both/,
  )
})

test('credentials are confirmed that were seen, and once no token or secret from before is good', async () => {
  const one = await registeredBy(service, root, named('one'))
  await root.call('POST', `/clients/${one.clientId}/rotate-secret`, { overlapHours: 24 })
  const unseen = await confirm(otherRoot, one.clientId, 1)
  assert.ok(
    unseen.json.errors.some((each: { pointer: string }) => each.pointer === '/credentialsVersion'),
  )
  const early = await confirm(otherRoot, one.clientId, 2)
  assert.match(details(early), /^must wait until tokens for other credentials have expired, at /)
  await sql(
    service.database,
    `update client set credentials_changed_at = now() - interval '2 hours' where client_id = $1`,
    [one.clientId],
  )
  // The secret before the rotation is taken still.
  assert.match(details(await confirm(otherRoot, one.clientId, 2)), /^must wait/)
  await letTokensExpire(one.clientId)
  assert.equal((await confirm(otherRoot, one.clientId, 2)).status, 200)
})

test('who is disabled is no second person, neither the one who comes nor the one who came', async () => {
  const second = await rootOf(service, named('second'))
  const entryId = await open(root)
  await enter(entryId, second, 0)
  await otherRoot.call('PATCH', `/clients/${second.clientId}`, { active: false })
  assertRefused(await enter(entryId, root, 1), /^second-\d+ is disabled/)
  const another = await open(root)
  await enter(another, root, 0)
  // Its token is refused as such where nobody has used it for a minute.
  const late = await enter(another, second, 1)
  assert.ok([401, 422].includes(late.status), late.text)
})

test('people who sign in bring components of one key, each one, and none beside a client', async () => {
  const enterAs = (entryId: string, clientId: string, at: 0 | 1) => {
    const component = parts[at] ?? Buffer.alloc(0)
    const keyCheckValue = computeKeyCheckValue('A', component)
    const brought = { person: `Person ${at}`, component: component.toString('hex'), keyCheckValue }
    return enterComponent(service.keys, { clientId, requestId: 'second-person' }, entryId, brought)
  }
  const [one, other] = ['1', '2'].map((subject) =>
    derivePersonId({ issuer: 'https://issuer.test', subject }),
  ) as [string, string]
  const ofPeople = await open(root)
  await enterAs(ofPeople, one, 0)
  const { key } = await enterAs(ofPeople, other, 1)
  assert.ok(key)
  const ofBoth = await open(root)
  assert.equal((await enter(ofBoth, root, 0)).status, 200)
  await assert.rejects(enterAs(ofBoth, one, 1), {
    code: 'key_refused',
    message: /all sign in, or all be clients/,
  })
})

test('in production one client is one person, by whatever names', async () => {
  await sql(service.database, `update installation set kind = 'production'`)
  try {
    assertRefused(await complete(root, root), /a client of their own/)
    const puppet = await root.call('POST', '/clients', newAdministrator(named('puppet')))
    const asPuppet = await signIn(service, puppet.json.clientId, puppet.json.clientSecret)
    assertRefused(await complete(root, asPuppet), /^root could act as both/)
    assert.equal((await complete(root, otherRoot)).status, 200)
  } finally {
    await sql(service.database, `update installation set kind = 'sandbox'`)
  }
})
