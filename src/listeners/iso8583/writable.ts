import { addressResults } from '../../domain/address-check.ts'
import { answerTo, composeAmounts, composeResults, managementMessage } from './answer.ts'
import { composeChipField } from './card-data.ts'
import { CodecError, type FieldLayout, type IsoMessage } from './codec/layout.ts'
import { encode } from './codec/message.ts'
import type { Profile } from './profile-schema.ts'
import { outcomes } from './profile-schema.ts'

/** Class and function of answered messages: the second and third digit of the type. */
const answeredTypes = ['10', '12', '20', '22', '40', '42', '80', '82']
/** An approval code with letters and digits. */
const approvalCode = 'A1B2C3'

/**
 * Writes every answer of a profile once, and every message that the service sends.
 * @returns why the first unwritable one cannot be written, as a sentence; null if all can be.
 */
export function findWritingFault(profile: Profile): string | null {
  for (const message of [...listAnswers(profile), ...listOwnMessages(profile)]) {
    try {
      encode(profile.layout, withMac(profile, message))
    } catch (error) {
      if (!(error instanceof CodecError)) throw error
      const fault = error.message.replace(/\.$/, '')
      return (
        `a message ${message.mti} cannot be written (${fault}): ` +
        'change the layout of the field.'
      )
    }
  }
  return null
}

/**
 * Lists an answer to each type of message with the longest and with shorter values, and one for
 * each outcome.
 */
function listAnswers(profile: Profile): IsoMessage[] {
  const asked = answeredTypes.flatMap((type) => [
    createExample(profile, type, true),
    createExample(profile, type, false),
  ])
  const authorization = createExample(profile, '10', true)
  return [
    ...asked.map((message) => answerTo(profile, message, '00', { 38: approvalCode })),
    ...outcomes.map((outcome) => answerTo(profile, authorization, outcome)),
    answerTo(profile, authorization, '10', composeAmounts(profile, authorization, partial)),
    answerTo(profile, authorization, '00', composeChipField(profile, authorization, answeredChip)),
    ...listResults(profile).map((shown) => answerTo(profile, authorization, '00', shown)),
  ]
}

const partial = { approvedAmount: 1 }
/** The longest answer to a chip: tag 91 of 16 bytes, and commands of 110. */
const answeredChip = { chip: { data: `9110${'00'.repeat(16)}726C${'00'.repeat(108)}` } }

/** Creates a message with all fields that are echoed. */
function createExample(
  { echoed, layout, version }: Profile,
  type: string,
  isLongest: boolean,
): IsoMessage {
  const values = echoed.flatMap((number) => {
    const field = layout.fields[number]
    return field ? [[number, valueIn(field, isLongest)] as const] : []
  })
  return {
    header: '00'.repeat(layout.header ?? 0),
    mti: `${version === '1993' ? '1' : '0'}${type}0`,
    fields: Object.fromEntries(values),
  }
}

/** Lists the fields with the results of a CVV2 and an address, for each result. */
const listResults = (profile: Profile): readonly Readonly<Record<string, string>>[] =>
  (['match', 'mismatch', 'not_checked', 'unresolved'] as const).flatMap((result) =>
    addressResults.flatMap((postalCode) =>
      addressResults.map((addressLine) =>
        composeResults(profile, {
          approved: false,
          responseCode: '00',
          reference: '',
          cvv: { result, remainingTries: 0 },
          address: { postalCode, addressLine },
        }),
      ),
    ),
  )

const listOwnMessages = (profile: Profile): IsoMessage[] =>
  (['signOn', 'signOff', 'echo'] as const).map((purpose) => managementMessage(profile, purpose))

/** Returns the longest value of a field, or the next shorter one. */
function valueIn(
  { encoding, length, max = 0, oddPad, prefix, type }: FieldLayout,
  isLongest: boolean,
): string {
  const units = length ?? Math.max(isLongest ? max : max - 1, 0)
  // Such a field requires an even number of digits.
  const isEven =
    encoding === 'bcd' &&
    length === undefined &&
    (!oddPad || (prefix?.counts === 'bytes' && oddPad !== 'right-f'))
  const count = isEven ? units - (units % 2) : units
  if (type === 'b') return '00'.repeat(count)
  if (type === 'x+n') return `C${'0'.repeat(count - 1)}`
  return (type === 'n' || type === 'z' ? '0' : 'A').repeat(count)
}

/** Adds a place for the MAC, if the profile has MACs. */
function withMac({ mac }: Profile, message: IsoMessage): IsoMessage {
  if (!mac) return message
  const field = Object.keys(message.fields).some((each) => Number(each) > 64) ? '128' : '64'
  return { ...message, fields: { ...message.fields, [field]: '00'.repeat(8) } }
}
