import Type, { type Static, type TSchema } from 'typebox'
import * as controls from '../../domain/controls.ts'
import { controlOwners } from '../../domain/decide-controls.ts'
import { declineReasons } from '../../domain/decline-reason.ts'
import { toMembers } from '../../domain/members.ts'
import { merchantLengths } from '../../domain/merchant.ts'
import { AMOUNT_MAX } from '../../domain/money.ts'
import { periods } from '../../domain/spending.ts'
import type { BodyRule } from './request.ts'
import { closed, stringPatterns } from './validation.ts'

/** The most entries of a list. */
const entriesMost = 1_000
const countMost = 1_000_000

/** The maximum bytes of a body with controls, whose lists are full. */
export const controlsBodyLimit = 262_144

/** A member that may be null. */
const nullable = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Union([schema, Type.Null()], { description })

const listOf = (entry: TSchema) => {
  const entries = Type.Unsafe<readonly string[]>(
    Type.Array(entry, { maxItems: entriesMost, uniqueItems: true }),
  )
  return Type.Object(
    {
      allowed: Type.Optional(
        nullable(entries, 'Null allows everything, and an empty list nothing.'),
      ),
      blocked: Type.Optional(entries),
    },
    { ...closed, description: 'A block beats an allow.' },
  )
}

const MerchantListSchema = listOf(
  Type.String({
    minLength: 1,
    maxLength: merchantLengths.id,
    pattern: stringPatterns.printable,
    examples: ['000000012345678'],
  }),
)
const CategoryListSchema = listOf(
  Type.String({ pattern: stringPatterns.categoryCode, examples: ['7995'] }),
)
const CountryListSchema = listOf(Type.String({ format: 'country-code', examples: ['ESP'] }))
const ChannelListSchema = listOf(Type.Enum([...controls.channels]))

const maximum = (most: number, description: string) =>
  Type.Optional(nullable(Type.Integer({ minimum: 0, maximum: most }), description))

export const SpendingLimitSchema = Type.Object(
  {
    period: Type.Enum([...periods], {
      description: 'A week starts on Monday. `transaction`: of each transaction alone.',
    }),
    channel: Type.Optional(
      nullable(
        Type.Enum([...controls.channels]),
        'Only transactions of this channel count; null: all do.',
      ),
    ),
    maximumAmount: maximum(
      AMOUNT_MAX,
      "In the smallest unit of the product's currency. Null is no limit, and 0 allows nothing.",
    ),
    maximumCount: maximum(countMost, 'Null is no limit, and 0 allows nothing.'),
  },
  closed,
)

const ruleMembers = {
  merchants: Type.Optional(MerchantListSchema),
  merchantCategories: Type.Optional(CategoryListSchema),
  countries: Type.Optional(CountryListSchema),
  channels: Type.Optional(ChannelListSchema),
  singleUse: Type.Optional(
    Type.Boolean({ description: 'Whether the card can be used once. Default: false.' }),
  ),
  merchantLock: Type.Optional(
    Type.Boolean({
      description:
        'Whether the first merchant that the card is used at becomes the only one. Default: false.',
    }),
  ),
  limits: Type.Optional(
    Type.Unsafe<readonly Static<typeof SpendingLimitSchema>[]>(
      Type.Array(SpendingLimitSchema, { maxItems: controls.limitsMost }),
    ),
  ),
}

export const ControlRulesSchema = Type.Object(ruleMembers, closed)

const version = (description: string) =>
  Type.Integer({ minimum: 0, maximum: 2_147_483_646, description, examples: [2] })
const replaced = version('The present version, which is replaced: 0 before the first one.')

export const controlsMembers = {
  ...ruleMembers,
  shadow: Type.Optional(
    nullable(ControlRulesSchema, 'Rules that are evaluated and recorded, and decide nothing.'),
  ),
}
const timeZone = Type.String({
  maxLength: 64,
  format: 'time-zone',
  description: 'Of the days of all limits of the product and its cards. Default: UTC.',
  examples: ['Europe/Madrid'],
})
const limitBasis = Type.Enum([...controls.limitBases], {
  description:
    'What all limits of the product and its cards count of a payment: what was approved, or what ' +
    'is open and was cleared. A payment keeps the basis under which it was approved. Default: ' +
    'authorized.',
})
const holdDays = nullable(
  Type.Integer({ minimum: 1, maximum: controls.holdDaysMost }),
  "How many days the holds of its cards last; null (default): by the merchant's category.",
)

/** The members that a request may set for a product besides its controls. */
export const productTerms = {
  timeZone: Type.Optional(timeZone),
  limitBasis: Type.Optional(limitBasis),
  holdDays: Type.Optional(holdDays),
}

export const ReplaceCardControlsSchema = Type.Object(
  { version: replaced, ...controlsMembers },
  closed,
)
export const ReplaceProductControlsSchema = Type.Object(
  { version: replaced, ...productTerms, ...controlsMembers },
  closed,
)

const complete = Type.Required(Type.Object(controlsMembers)).properties
export const CardControlsSchema = Type.Object({
  version: version('Counts the changes: 0 before the first one.'),
  ...complete,
})
export const ProductControlsSchema = Type.Object({
  version: version('Counts the changes: 0 before the first one.'),
  timeZone,
  limitBasis,
  holdDays,
  ...complete,
})

export const ControlsVersionSchema = Type.Object({ version: version('Of the new controls.') })

export const ControlObjectionSchema = Type.Object({
  declineReason: Type.Enum([...declineReasons], { examples: ['amount_over_limit'] }),
  owner: Type.Enum([...controlOwners], { description: 'Whose control it is.' }),
  control: Type.String({ examples: ['limits.day'] }),
})

/** The faults of limits that a schema cannot express; one of each rules. */
export const limitRules: readonly BodyRule[] = [
  (body) => findLimitFault(body, ''),
  ({ shadow }) => findLimitFault(toMembers(shadow), '/shadow'),
]

function findLimitFault(rules: Readonly<Record<string, unknown>>, place: string) {
  // The schema reports a member that is no limit.
  const limits = Array.isArray(rules.limits) ? rules.limits.map(toMembers) : []
  const [fault] = controls.limitFaults(limits)
  return fault ? { ...fault, pointer: place + fault.pointer } : null
}
