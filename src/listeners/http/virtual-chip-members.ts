import Type, { type Static } from 'typebox'
import { chipProfileNames } from '../../domain/chip-profile.ts'
import { type BodyRule, onlyWith } from './request.ts'
import { stringPatterns } from './validation.ts'

const secret = { 'x-secret': true } as const

/** The members of a simulation with the virtual chip. */
export const chipMembers = {
  chip: Type.Optional(
    Type.Boolean({
      description:
        'Whether the virtual chip of the card makes a cryptogram and takes the answer. A card ' +
        'without a virtual chip gets one.',
    }),
  ),
  offlinePin: Type.Optional(
    Type.String({
      pattern: stringPatterns.pin,
      description: 'The PIN that the virtual chip compares itself. Needs `chip`.',
      examples: ['1357'],
      ...secret,
    }),
  ),
}

const modesOfChips: readonly unknown[] = ['chip', 'contactless', 'atm']

/** The rules of a simulation with the virtual chip. */
export const chipRules: readonly BodyRule[] = [
  onlyWith('offlinePin', 'chip'),
  ({ chip, entryMode }) =>
    chip !== true || entryMode === undefined || modesOfChips.includes(entryMode)
      ? null
      : { pointer: '/entryMode', detail: 'must be chip, contactless or atm with chip' },
]

/** The result of the PIN that a chip compared. */
export const OfflinePinSchema = Type.Enum(['right', 'wrong', 'blocked', 'not_given'], {
  description: '`blocked`: no tries remain in the chip, so it compared no PIN.',
  examples: ['right'],
})

const takenMembers = {
  answerVerified: Type.Boolean({
    description: 'Whether the answer was that of the issuer. Otherwise the chip ignores it.',
  }),
  approved: Type.Boolean({ description: 'Whether the chip approved the transaction, too.' }),
  commands: Type.Array(
    Type.Object({
      number: Type.Integer({ description: 'The number of the command (tag 9F18).' }),
      result: Type.Enum(['done', 'failed', 'not_carried_out'], { examples: ['done'] }),
    }),
  ),
}

/** The result of an answer in the chip. */
export const TakenAnswerSchema = Type.Object(takenMembers)
export type TakenAnswer = Static<typeof TakenAnswerSchema>

/** The same in the answer to a simulation. */
export const simulatedChipMember = {
  virtualChip: Type.Optional(
    Type.Object(
      {
        offlinePin: OfflinePinSchema,
        remainingOfflineTries: Type.Integer({
          minimum: 0,
          description: 'In the chip, after the answer and its commands.',
        }),
        ...takenMembers,
      },
      { description: 'With `chip`: the result in the virtual chip. Absent in a repeat.' },
    ),
  ),
}

export const VirtualChipSchema = Type.Object({
  publicToken: Type.String({ examples: ['4820117360'] }),
  panSequenceNumber: Type.String({
    description: 'Tag 5F34: two digits, counted up with each new chip of the card.',
    examples: ['00'],
  }),
  profile: Type.Enum([...chipProfileNames], { examples: ['visa-cvn18'] }),
  atc: Type.Integer({ minimum: 0, description: 'The counter of its last transaction.' }),
  offlineTryLimit: Type.Integer({ minimum: 1, maximum: 15, examples: [3] }),
  remainingOfflineTries: Type.Integer({ minimum: 0, maximum: 15, examples: [3] }),
  isApplicationBlocked: Type.Boolean(),
  isCardBlocked: Type.Boolean(),
  dataObjects: Type.Record(Type.String(), Type.String(), {
    description: 'The values that commands put, in hexadecimal digits, by tag.',
  }),
})
export type VirtualChip = Static<typeof VirtualChipSchema>
