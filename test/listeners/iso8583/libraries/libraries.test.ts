import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { parseChipData } from '../../../../src/domain/chip-data.ts'
import type { Layout } from '../../../../src/listeners/iso8583/codec/layout.ts'
import type { Profile } from '../../../../src/listeners/iso8583/profile-schema.ts'
import { issueChipCard } from '../../../support/chip.ts'
import { type IssuedCard, issueCard } from '../../../support/network.ts'
import { openTestService, type TestService } from '../../../support/service.ts'
import { makeTrack } from '../../../support/stripes.ts'
import { findProfile, openLink } from '../../../support/switch.ts'
import { chipSteps } from './chip-steps.ts'
import { everyFieldSteps } from './every-field.ts'
import { libraries, type WalkAnswer, type WalkDocument } from './programs.ts'
import {
  findResponseCode,
  tagsOf,
  type WalkStep,
  type WalkValue,
  walkedLimit,
  walkedPayment,
  walkSteps,
  wholeFields,
} from './walk.ts'

/**
 * `npm test -- --suite libraries`: see "Interoperability" in docs/reference/iso8583.md.
 */

const profileNames = [
  'ascii-1987',
  'binary-1987',
  'ascii-1993',
  'visa-public',
  'mastercard-public',
  'sandbox',
]

test('every library of the walks is there', {
  skip: process.env.LIBRARIES !== 'required' && 'LIBRARIES=required asks for all of them',
}, () => {
  assert.deepEqual(
    libraries.flatMap(({ leftOut }) => leftOut || []),
    [],
  )
})

for (const library of libraries) {
  suite(library.name, { skip: library.leftOut, timeout: 900_000 }, () => {
    let service: TestService
    let walk: (document: WalkDocument) => Promise<readonly WalkAnswer[]>
    before(async () => {
      walk = await library.open()
      service = await openTestService({ env: { RATE_LIMIT: 'off' } })
    })

    for (const name of profileNames) {
      test(`${library.name} packs and reads every message and field of ${name}`, async (t) => {
        const profile = findProfile(name)
        const card = await issueLimitedCard(service)
        const [first, signOn, ...others] = walkSteps(
          service,
          profile,
          card,
          await makeTrack(service, card, '201'),
        )
        assert.ok(first && signOn)
        const steps = [first, signOn, ...everyFieldSteps(profile), ...others]
        const { port } = await openLink(service, { profile: name })
        const walked = await walk({
          address: `127.0.0.1:${port}`,
          table: 'layout',
          layout: profile.layout,
          framing: profile.framing,
          tags: tagsOf(profile, steps),
          steps,
        })
        assertWalk(profile, steps, walked)
        await assertTries(service, card)
        await assertPayment(service, card, profile)
        t.diagnostic(`${name}: ${steps.length} messages`)
      })
    }

    for (const name of profileNames) {
      test(`${library.name} pays with a chip over ${name}, and reads its commands`, async () => {
        const profile = findProfile(name)
        const card = await issueChipCard(service)
        const steps = await chipSteps(service, profile, card)
        const { port } = await openLink(service, { profile: name })
        const walked = await walk({
          address: `127.0.0.1:${port}`,
          table: 'layout',
          layout: profile.layout,
          framing: profile.framing,
          tags: tagsOf(profile, steps),
          steps,
        })
        assertWalk(profile, steps, walked)
      })
    }

    if (!library.hasOwnTable) return
    test(`${library.name} walks ascii-1987 by its own table of the standard`, async (t) => {
      const profile = findProfile('ascii-1987')
      const card = await issueCard(service)
      const track = await makeTrack(service, card, '201')
      const steps = walkSteps(service, profile, card, track).map((step) => ({
        ...step,
        fields: wholeFields(step.fields),
        shownFields: wholeFields(step.shownFields),
      }))
      const { port } = await openLink(service, { profile: 'ascii-1987' })
      const walked = await walk({
        address: `127.0.0.1:${port}`,
        table: 'library',
        layout: withoutParts(profile),
        framing: profile.framing,
        tags: {},
        steps,
      })
      assertWalk(profile, steps, walked)
      await assertTries(service, card)
      t.diagnostic(`ascii-1987: ${steps.length} messages`)
    })
  })
}

const issueLimitedCard = async (service: TestService): Promise<IssuedCard> => {
  const card = await issueCard(service)
  const limits = [{ period: 'transaction', maximumAmount: walkedLimit }]
  const body = { version: 0, limits }
  await service.call('PUT', `/cards/${card.publicToken}/controls`, { body })
  return card
}

const withoutParts = ({ layout }: Profile): Layout => ({
  ...layout,
  fields: Object.fromEntries(
    Object.entries(layout.fields).map(([number, { parts: _, ...field }]) => [number, field]),
  ),
})

const assertWalk = (
  profile: Profile,
  steps: readonly WalkStep[],
  answers: readonly WalkAnswer[],
): void => {
  assert.equal(answers.length, steps.length)
  for (const [at, step] of steps.entries()) {
    assertAnswer(profile, step, answers[at])
    assertRepeat(step, answers[at], answers)
  }
}

/** A walk has one wrong PIN and one wrong CVV2, and repeats both. */
const assertTries = async (service: TestService, { publicToken }: IssuedCard): Promise<void> => {
  for (const kind of ['pin', 'cvv']) {
    const status = await service.call('GET', `/card-${kind}/${publicToken}/${kind}/status`)
    assert.equal(status.json.remainingTries, 2, kind)
  }
}

const refundedPayments = {
  name: 'walked-payment',
  text: `select approved::float8 as "approved", reversed::float8 as "reversed",
      refunded::float8 as "refunded"
    from payment where public_token = $1 and refunded > 0`,
}

/** The messages about one payment came to one row. */
const assertPayment = async (
  { database }: TestService,
  { publicToken }: IssuedCard,
  profile: Profile,
): Promise<void> => {
  const found = await database.query<object>(refundedPayments, [publicToken])
  assert.deepEqual(found, [walkedPayment(profile)])
}

/** The fields of a message that an answer has as they came. */
const echoedFields = ({ echoed }: Profile, { cut, fields }: WalkStep) => {
  const numbers = Object.keys(fields).map(Number)
  // The last field of a message that ends too soon cannot be read.
  const unreadable = cut > 0 ? String(Math.max(...numbers)) : null
  return Object.fromEntries(
    Object.entries(fields).filter(
      ([field]) => echoed.includes(field) && field !== unreadable && field !== '39',
    ),
  )
}

const assertAnswer = (profile: Profile, step: WalkStep, answer: WalkAnswer | undefined): void => {
  const { mti, name, outcome, shownFields } = step
  assert.ok(answer, `No answer: ${name}.`)
  const [version, messageClass, purpose] = mti
  assert.equal(answer.mti, `${version}${messageClass}${Number(purpose) + 1}0`, name)
  const { 38: approval, 55: chip, ...fields } = answer.fields
  assert.deepEqual(chip === undefined ? null : listTags(chip), step.shownTags, name)
  const expected = {
    ...echoedFields(profile, step),
    ...shownFields,
    39: findResponseCode(profile, outcome),
  }
  assert.deepEqual(fields, expected, name)
  if (/approved/i.test(outcome)) assert.match(String(approval), /^[0-9A-Z]{6}$/, name)
  else assert.equal(approval, undefined, name)
  assert.equal(answer.header, answerHeader(profile, answer), name)
}

/** The tags of an answer to a chip, which a library took apart or not. */
const listTags = (value: WalkValue): readonly string[] => {
  if (typeof value !== 'string') return Object.keys(value.parts).sort()
  const parsed = parseChipData(Buffer.from(value, 'hex'))
  assert.ok('tags' in parsed, value)
  return [...parsed.tags.keys()].sort()
}

/** The programs send from address 2222 to address 1111. */
const answerHeader = ({ framing: { header } }: Profile, { bytes }: WalkAnswer): string => {
  if (header?.kind === 'tpdu') return '6022221111'
  if (header?.kind !== 'base-1') return ''
  const length = (22 + bytes.length / 2).toString(16).padStart(4, '0')
  return `160102${length}222222111111${'00'.repeat(11)}`
}

const assertRepeat = (
  { name, repeats }: WalkStep,
  answer: WalkAnswer | undefined,
  answers: readonly WalkAnswer[],
): void => {
  if (repeats === null) return
  const first = answers.find((each) => each.name === repeats)
  assert.equal(answer?.bytes, first?.bytes, name)
}
