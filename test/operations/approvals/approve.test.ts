/** Four eyes: what one person asks for is done when another approves it, and then once. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { hashPayload } from '../../../src/domain/approval.ts'
import type { Person } from '../../../src/domain/person.ts'
import { expireApprovals } from '../../../src/operations/approvals/decide.ts'
import { ageApproval, setRequester } from '../../support/builders.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import { callAs, carryOut, makePerson, newJwks, stepsOf } from './people.ts'

const sue = makePerson('sue', 'security-officer')
const sol = makePerson('sol', 'security-officer')
const kim = makePerson('kim', 'key-officer')

let drawn = 0
const newAdministrator = () => {
  drawn += 1
  return {
    clientId: `admin-${drawn}`,
    clientName: 'An administrator',
    kind: 'admin',
    scopes: ['admin'],
    jwks: newJwks(),
  }
}

suite('an installation where a new administrator needs another person', () => {
  let service: TestService
  before(async () => {
    service = await openTestService({ env: { APPROVALS: 'administrator' } })
  })

  const ask = async (person: Person = sue, body: object = newAdministrator()) => {
    const asked = await callAs(service, person, 'POST', '/clients', { body })
    assert.equal(asked.status, 202, JSON.stringify(asked.body))
    return asked.body
  }
  const approve = (person: Person, approval: { approvalId: string; payloadHash: string }) =>
    callAs(service, person, 'POST', `/approvals/${approval.approvalId}/approve`, {
      body: { payloadHash: approval.payloadHash },
    })
  const isThere = async (clientId: string) =>
    (await callAs(service, sue, 'GET', `/clients/${clientId}`)).status === 200

  test('keeps what is asked for, shows it exactly, and does it once another person has approved', async () => {
    const body = newAdministrator()
    const asked = await ask(sue, body)
    assert.equal(asked.state, 'waiting')
    const payload = JSON.parse(asked.payload)
    assert.deepEqual([payload.method, payload.path, payload.body], ['POST', '/clients', body])
    const hash = Buffer.from(hashPayload(asked.payload)).toString('hex')
    assert.equal(asked.payloadHash, hash)
    await carryOut(service)
    assert.equal(await isThere(body.clientId), false)
    const shown = await callAs(service, sol, 'GET', `/approvals/${asked.approvalId}`)
    assert.equal(shown.body.payload, asked.payload)
    const approved = await approve(sol, shown.body)
    assert.deepEqual([approved.status, approved.body.state], [200, 'approved'])
    assert.deepEqual(approved.body.decidedBy, {
      id: sol.personId,
      name: sol.name,
      isPerson: true,
    })
    await carryOut(service)
    assert.equal(await isThere(body.clientId), true)
    const done = await callAs(service, sue, 'GET', `/approvals/${asked.approvalId}`)
    assert.deepEqual([done.body.state, done.body.outcomeStatus], ['done', 201])
    assert.equal(done.body.outcome.clientId, body.clientId)
    assert.equal(done.body.outcome.createdBy, sue.personId)
    assert.deepEqual(await stepsOf(service, asked.approvalId), ['asked', 'approved', 'carried out'])
  })

  test('refuses an approval by the requester from any session and under any id', async () => {
    const asked = await ask()
    const elsewhere = { ...makePerson('sue', 'security-officer'), name: 'Another device' }
    const disguised = { ...sue, personId: makePerson('other', 'viewer').personId }
    for (const person of [sue, elsewhere, disguised]) {
      const answer = await approve(person, asked)
      assert.deepEqual([answer.status, answer.body.code], [403, 'same_person'])
    }
    // The same subject of another issuer is somebody else.
    const other = makePerson('sue', 'security-officer', { at: 'https://elsewhere.example' })
    assert.equal((await approve(other, asked)).status, 200)
  })

  test('lets a client ask, and never approve', async () => {
    const body = newAdministrator()
    const given = { as: 'admin', listener: 'private' } as const
    const asked = await service.call('POST', '//clients', { ...given, body })
    assert.equal(asked.status, 202, asked.text)
    assert.equal(asked.headers.location, `/approvals/${asked.json.approvalId}`)
    assert.equal(asked.json.requestedBy.isPerson, false)
    const path = `//approvals/${asked.json.approvalId}`
    const refused = await service.call('POST', `${path}/approve`, {
      ...given,
      body: { payloadHash: asked.json.payloadHash },
    })
    assert.deepEqual([refused.status, refused.json.code], [403, 'insufficient_scope'])
    for (const act of ['break-glass', 'refuse']) {
      const answer = await service.call('POST', `${path}/${act}`, {
        ...given,
        body: { reason: 'x' },
      })
      assert.equal(answer.status, 403, act)
    }
    assert.equal((await approve(sol, asked.json)).status, 200)
    await carryOut(service)
    assert.equal(await isThere(body.clientId), true)
  })

  test('refuses who has not signed in within five minutes', async () => {
    const asked = await ask()
    const stale = makePerson('sol', 'security-officer', { seconds: 301 })
    const answer = await approve(stale, asked)
    assert.deepEqual([answer.status, answer.body.code], [401, 'login_too_old'])
    assert.equal(
      (await approve(makePerson('sol', 'security-officer', { seconds: 290 }), asked)).status,
      200,
    )
  })

  test('refuses who may approve and could not do it themselves', async () => {
    const asked = await ask()
    const answer = await approve(kim, asked)
    assert.deepEqual([answer.status, answer.body.code], [403, 'insufficient_scope'])
    const auditor = await approve(makePerson('ada', 'auditor'), asked)
    assert.deepEqual([auditor.status, auditor.body.code], [403, 'insufficient_scope'])
  })

  test('refuses the hash of another payload, and one approval twice', async () => {
    const [asked, other] = [await ask(), await ask()]
    const swapped = { ...asked, payloadHash: other.payloadHash }
    const answer = await approve(sol, swapped)
    assert.deepEqual([answer.status, answer.body.code], [409, 'payload_hash_mismatch'])
    assert.equal((await approve(sol, asked)).status, 200)
    const again = await approve(makePerson('sam', 'security-officer'), asked)
    assert.deepEqual([again.status, again.body.code], [409, 'approval_over'])
  })

  test('ends what was drawn from a state that is not so any more', async () => {
    const body = newAdministrator()
    const asked = await ask(sue, body)
    const other = await ask(sue, body)
    await approve(sol, other)
    await carryOut(service)
    const answer = await approve(sol, asked)
    assert.deepEqual([answer.status, answer.body.code], [409, 'approval_stale'])
    const shown = await callAs(service, sue, 'GET', `/approvals/${asked.approvalId}`)
    assert.equal(shown.body.state, 'stale')
    assert.deepEqual(await stepsOf(service, asked.approvalId), ['asked', 'stale'])
    assert.equal((await approve(sol, asked)).body.code, 'approval_over')
  })

  test('ends a request that was not approved within 24 hours', async () => {
    const [asked, other] = [await ask(), await ask()]
    await ageApproval(service.database, asked.approvalId, '23 hours 59 minutes')
    assert.equal((await approve(sol, asked)).status, 200)
    await ageApproval(service.database, other.approvalId, '24 hours')
    const answer = await approve(sol, other)
    assert.deepEqual([answer.status, answer.body.code], [409, 'approval_over'])
    assert.deepEqual(await stepsOf(service, other.approvalId), ['asked', 'expired'])
    const third = await ask()
    await ageApproval(service.database, third.approvalId, '24 hours')
    await expireApprovals(service.approvals, new AbortController().signal)
    const shown = await callAs(service, sue, 'GET', `/approvals/${third.approvalId}`)
    assert.equal(shown.body.state, 'expired')
  })

  test('is decided once, however many decide at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const asked = await ask()
      const path = `/approvals/${asked.approvalId}`
      const answers = await Promise.all([
        approve(sol, asked),
        approve(makePerson('sam', 'security-officer'), asked),
        callAs(service, sue, 'POST', `${path}/withdraw`),
        callAs(service, sol, 'POST', `${path}/refuse`, { body: { reason: 'No need' } }),
      ])
      const done = answers.filter(({ status }) => status === 200)
      assert.equal(done.length, 1)
      for (const { body, status } of answers) {
        if (status !== 200) assert.equal(body.code, 'approval_over')
      }
      const steps = await stepsOf(service, asked.approvalId)
      assert.equal(steps.length, 2)
      await carryOut(service)
    }
  })

  test('answers a repeat of the request with the same approval, and of its approval with the same answer', async () => {
    const body = newAdministrator()
    const key = crypto.randomUUID()
    const first = await callAs(service, sue, 'POST', '/clients', { body, key })
    const again = await callAs(service, sue, 'POST', '/clients', { body, key })
    assert.deepEqual(again, first)
    const other = await callAs(service, sue, 'POST', '/clients', {
      body: { ...body, clientName: 'Else' },
      key,
    })
    assert.equal(other.body.code, 'idempotency_key_reused')
    const path = `/approvals/${first.body.approvalId}/approve`
    const given = { body: { payloadHash: first.body.payloadHash }, key: crypto.randomUUID() }
    const approved = await callAs(service, sol, 'POST', path, given)
    assert.deepEqual(await callAs(service, sol, 'POST', path, given), approved)
  })

  test('lets only the requester withdraw, and refuses with the reason on record', async () => {
    const asked = await ask()
    const path = `/approvals/${asked.approvalId}`
    const stranger = await callAs(service, sol, 'POST', `${path}/withdraw`)
    assert.deepEqual([stranger.status, stranger.body.code], [403, 'not_requester'])
    const own = await callAs(service, sue, 'POST', `${path}/refuse`, { body: { reason: 'Mine' } })
    assert.deepEqual([own.status, own.body.code], [403, 'same_person'])
    const refused = await callAs(service, sol, 'POST', `${path}/refuse`, {
      body: { reason: 'Nobody of that name' },
    })
    assert.deepEqual(
      [refused.body.state, refused.body.decisionReason],
      ['refused', 'Nobody of that name'],
    )
    await carryOut(service)
    assert.deepEqual(await stepsOf(service, asked.approvalId), ['asked', 'refused'])
  })

  test('lets the requester through in an emergency, and everybody hears of it', async () => {
    const healthOf = async () => {
      const answer = await service.call('GET', '//health', { listener: 'private', token: null })
      return answer.json.checks['approvals:broken-glass'][0]
    }
    assert.deepEqual(await healthOf(), { status: 'pass' })
    const body = newAdministrator()
    const asked = await ask(sue, body)
    const path = `/approvals/${asked.approvalId}/break-glass`
    const given = { body: { reason: 'Nobody else is awake' } }
    const stranger = await callAs(service, sol, 'POST', path, given)
    assert.deepEqual([stranger.status, stranger.body.code], [403, 'not_requester'])
    const old = makePerson('sue', 'security-officer', { seconds: 400 })
    assert.equal((await callAs(service, old, 'POST', path, given)).body.code, 'login_too_old')
    const passed = await callAs(service, sue, 'POST', path, given)
    assert.deepEqual([passed.body.state, passed.body.brokeGlass], ['approved', true])
    await carryOut(service)
    assert.equal(await isThere(body.clientId), true)
    const steps = await stepsOf(service, asked.approvalId)
    assert.deepEqual(steps, ['asked', 'broke glass', 'carried out'])
    assert.deepEqual(await healthOf(), { status: 'warn', output: '1 in 30 days' })
    const metrics = await service.call('GET', '//metrics', { listener: 'private', token: null })
    assert.match(metrics.text, /pinfold_approvals_broken_glass 1/)
  })

  test('takes no request that would show a secret once', async () => {
    const { jwks: _, ...body } = newAdministrator()
    const refused = await callAs(service, sue, 'POST', '/clients', { body })
    assert.equal(refused.status, 422)
    assert.equal(refused.body.errors[0].pointer, '/jwks')
    const { sandbox } = service
    const path = `/clients/${sandbox?.admin.clientId}/rotate-secret`
    assert.equal((await callAs(service, sue, 'POST', path)).status, 422)
  })

  test('does not carry out what its requester may not do any more', async () => {
    const clientId = `leaver-${crypto.randomUUID().slice(0, 8)}`
    const { database } = service
    const given = { as: 'admin', listener: 'private' } as const
    const asked = await service.call('POST', '//clients', { ...given, body: newAdministrator() })
    await setRequester(database, asked.json.approvalId, clientId)
    await approve(sol, asked.json)
    await carryOut(service)
    const shown = await callAs(service, sol, 'GET', `/approvals/${asked.json.approvalId}`)
    assert.deepEqual([shown.body.state, shown.body.outcomeStatus], ['failed', 403])
    assert.equal(shown.body.outcome.code, 'insufficient_scope')
  })

  test('shows those who may not see all of them their own, and no other', async () => {
    const asked = await ask()
    const lea = makePerson('lea', 'support')
    const listed = await callAs(service, lea, 'GET', '/approvals')
    assert.deepEqual([listed.status, listed.body], [200, []])
    assert.equal((await callAs(service, lea, 'GET', `/approvals/${asked.approvalId}`)).status, 404)
    const viewer = makePerson('vera', 'viewer')
    assert.equal((await callAs(service, viewer, 'GET', '/approvals')).status, 403)
    const all = await callAs(service, sol, 'GET', '/approvals?state=waiting&limit=1')
    assert.equal(all.body[0].approvalId, asked.approvalId)
    assert.equal(all.body[0].payload, undefined)
  })

  test('lists the requests of one requester, and to others than approvers only their own', async () => {
    const [dora, lea] = [makePerson('dora', 'security-officer'), makePerson('lea', 'support')]
    const asked = await ask(dora)
    await ask()
    const path = `/approvals?requestedBy=${dora.personId}`
    const listed = await callAs(service, sol, 'GET', path)
    assert.deepEqual(
      listed.body.map(({ approvalId }: { approvalId: string }) => approvalId),
      [asked.approvalId],
    )
    const waiting = await callAs(service, sol, 'GET', `${path}&state=refused`)
    assert.deepEqual([waiting.status, waiting.body], [200, []])
    assert.deepEqual((await callAs(service, lea, 'GET', path)).body, [])
  })

  test('leaves all else as it was', async () => {
    const body = {
      clientId: `c-${crypto.randomUUID()}`,
      clientName: 'A',
      kind: 'client',
      scopes: [],
    }
    const created = await callAs(service, sue, 'POST', '/clients', { body })
    assert.deepEqual([created.status, typeof created.body.clientSecret], [201, 'string'])
  })
})

test('a sandbox needs no approval', async () => {
  const service = await openTestService()
  const answer = await callAs(service, sue, 'POST', '/clients', { body: newAdministrator() })
  assert.equal(answer.status, 201)
})
