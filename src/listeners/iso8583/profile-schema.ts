import Type, { type Static } from 'typebox'
import { transactionTypes } from '../../domain/transaction.ts'
import { entryModes } from '../../operations/authorizations/authorization.ts'
import type { NetworkAnswer } from '../../operations/links/authorization-requests.ts'
import type { Layout } from './codec/layout.ts'
import type { Version } from './codec/versions.ts'
import { Count, closed, FieldChangeSchema, FieldNumber, Texts } from './field-schema.ts'

/** The outcome of a message: an authorization's, or one that needs no authorization. */
export type LinkOutcome = NetworkAnswer['outcome'] | '12' | '25' | '30' | '57' | '63'

/** Every outcome. A profile must have a response code for each. */
export const outcomes: readonly LinkOutcome[] = [
  ...([
    '00',
    '03',
    '10',
    '12',
    '13',
    '14',
    '25',
    '30',
    '41',
    '43',
    '46',
    '54',
    '55',
    '57',
    '61',
    '62',
    '63',
    '65',
    '75',
    '78',
  ] as const),
  ...(['86', '88', '91', '94', '96', 'N7'] as const),
]

/** The results of a comparison of addresses: what matched. */
export const addressVerdicts = [
  'both',
  'postalCode',
  'addressLine',
  'neither',
  'unavailable',
] as const

/** The fields by which networks identify transactions: an answer returns them unchanged. */
export const keyFields: readonly string[] = ['7', '11', '32', '37', '41', '42']

/** A table of texts with some of these names. */
const textsBy = <Name extends string>(names: readonly Name[]) =>
  Type.Unsafe<Readonly<Partial<Record<Name, string>>>>(
    Type.Object(
      Object.fromEntries(names.map((name) => [name, Type.Optional(Type.String())] as const)),
      closed,
    ),
  )

const FramingSchema = Type.Object(
  {
    length: Type.Enum(['binary-2', 'binary-4', 'bcd-2', 'ascii-4', 'binary-2-session']),
    inclusive: Type.Optional(Type.Boolean()),
    header: Type.Optional(
      Type.Union([
        Type.Object({ kind: Type.Enum(['tpdu', 'base-1']) }, closed),
        Type.Object({ kind: Type.Literal('text'), text: Type.String({ maxLength: 64 }) }, closed),
      ]),
    ),
  },
  closed,
)

const EntryMode = Type.Enum([...entryModes])
const PinBlockFormat = Type.Enum(['ISO_FORMAT_0', 'ISO_FORMAT_1', 'ISO_FORMAT_3', 'ISO_FORMAT_4'])
const Place = { field: FieldNumber, at: Count }
const Column = Type.Object({ at: Count, length: Count }, closed)
const TextPlace = Type.Object(
  {
    field: FieldNumber,
    part: Type.Optional(Type.String()),
    at: Type.Optional(Count),
    length: Type.Optional(Count),
  },
  closed,
)
const AmountType = Type.String({ pattern: '^[0-9]{2}$' })
const timer = Type.Integer({ minimum: 100, maximum: 600_000 })

/** A profile in JSON, including the profiles that it extends. */
export const ProfileSchema = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,31}$' }),
    description: Type.String({ minLength: 1, maxLength: 300 }),
    certified: Type.Optional(Type.Boolean()),
    version: Type.Enum(['1987', '1993']),
    encoding: Type.Enum(['ascii', 'bcd', 'ebcdic']),
    layout: Type.Object(
      {
        header: Type.Optional(Count),
        bitmap: Type.Optional(
          Type.Object(
            {
              encoding: Type.Enum(['binary', 'hex-ascii', 'hex-ebcdic']),
              size: Type.Optional(Type.Literal('always-16')),
              indicator: Type.Optional(Type.Literal(false)),
            },
            closed,
          ),
        ),
        /** The encoding of text if digits are packed. */
        text: Type.Optional(Type.Enum(['ascii', 'ebcdic'])),
        fields: Type.Record(FieldNumber, Type.Union([FieldChangeSchema, Type.Null()])),
      },
      closed,
    ),
    framing: FramingSchema,
    signOn: Type.Object({ required: Type.Boolean() }, closed),
    management: Type.Object(
      {
        field: FieldNumber,
        signOn: Texts,
        signOff: Texts,
        echo: Texts,
        keyChange: Texts,
      },
      closed,
    ),
    /** Returned unchanged. */
    echoed: Type.Array(FieldNumber),
    entryMode: Type.Object(
      {
        ...Place,
        length: Count,
        values: Type.Record(Type.String(), EntryMode),
        otherwise: EntryMode,
        ecommerce: Type.Optional(
          Type.Object({ field: FieldNumber, at: Type.Optional(Count), values: Texts }, closed),
        ),
        atm: Type.Object(
          { merchantField: FieldNumber, merchantTypes: Texts, processingCodes: Texts },
          closed,
        ),
      },
      closed,
    ),
    /** The first two digits of field 3, and what they ask for. Others are declined. */
    processing: Type.Object(
      {
        codes: Type.Record(
          Type.String({ pattern: '^[0-9]{2}$' }),
          Type.Enum([...transactionTypes, 'declined']),
        ),
        /** Function codes that name the type for every processing code. */
        functions: Type.Optional(
          Type.Object(
            {
              field: FieldNumber,
              codes: Type.Record(Type.String(), Type.Enum([...transactionTypes, 'declined'])),
            },
            closed,
          ),
        ),
      },
      closed,
    ),
    /** The amount that the network converted, and its currency; null if it sends none. */
    billing: Type.Union([
      Type.Null(),
      Type.Object({ amount: FieldNumber, currency: FieldNumber }, closed),
    ]),
    /**
     * How a request says that it raises a payment: codes of a field for an amount that is added,
     * and for an amount that is the new total. Null: no request does.
     */
    increment: Type.Union([
      Type.Null(),
      Type.Object(
        { field: FieldNumber, part: Type.Optional(Type.String()), added: Texts, total: Texts },
        closed,
      ),
    ]),
    /**
     * Where a request says that the terminal can take a part of the amount: a text that begins with
     * one of the values. Null: no request does, and nothing is approved in part.
     */
    partialApproval: Type.Union([
      Type.Null(),
      Type.Object(
        {
          field: FieldNumber,
          part: Type.Optional(Type.String()),
          at: Type.Optional(Count),
          values: Texts,
        },
        closed,
      ),
    ]),
    /** The field of additional amounts, and their types; null without one. */
    additionalAmounts: Type.Union([
      Type.Null(),
      Type.Object({ field: FieldNumber, original: AmountType, cashback: AmountType }, closed),
    ]),
    /**
     * Where a reversal says what remains of the amount. Null: every reversal takes back everything.
     * `functions`: only with these function codes.
     */
    replacement: Type.Union([
      Type.Null(),
      Type.Object(
        {
          field: FieldNumber,
          amount: Column,
          billing: Type.Optional(Column),
          functions: Type.Optional(Type.Object({ field: FieldNumber, values: Texts }, closed)),
        },
        closed,
      ),
    ]),
    /** The network's id of the transaction; null if it sends none. */
    networkTransactionId: Type.Union([
      Type.Null(),
      Type.Object({ field: FieldNumber, part: Type.Optional(Type.String()) }, closed),
    ]),
    /**
     * Field 43: in columns, or as ISO 8583:1993 has it: name, street, city and a rest of postal
     * code, region and country, with backslashes between them.
     */
    merchantLocation: Type.Union([
      Type.Object(
        { kind: Type.Literal('columns'), name: Column, city: Column, country: Column },
        closed,
      ),
      Type.Object({ kind: Type.Literal('backslashes') }, closed),
    ]),
    /**
     * Fields that a repeat shares with the first message. A different value makes it another
     * request under the same key.
     */
    repeats: Type.Object({ kept: Type.Array(FieldNumber, { minItems: 1 }) }, closed),
    pin: Type.Object(
      {
        field: FieldNumber,
        control: FieldNumber,
        formatAt: Count,
        formats: Type.Record(Type.String(), PinBlockFormat),
        indexAt: Count,
        keyName: Type.String({ pattern: '^[a-z0-9{}-]{1,40}$' }),
        /** By key index, if a key has a name of its own. */
        keys: Type.Optional(Type.Record(Type.String(), Type.String())),
        without: Type.Object({ format: PinBlockFormat, index: Type.String() }, closed),
      },
      closed,
    ),
    cvv2: Type.Union([
      Type.Null(),
      Type.Object(
        {
          ...Place,
          part: Type.Optional(Type.String()),
          length: Count,
          presence: Type.Optional(Type.Object({ at: Count, value: Type.String() }, closed)),
          result: Type.Optional(
            Type.Object(
              {
                field: FieldNumber,
                part: Type.Optional(Type.String()),
                header: Type.Optional(Type.String()),
                at: Type.Optional(Count),
                values: textsBy(['match', 'mismatch', 'not_checked', 'unresolved']),
              },
              closed,
            ),
          ),
        },
        closed,
      ),
    ]),
    /**
     * Where chip data are. `dataset`: the byte before them, with their length in two bytes, which
     * some networks add; data without it are read, too. `panSequenceNumber`: the field of the card
     * sequence number, for chip data without one. Null: no chip data are read.
     */
    chip: Type.Union([
      Type.Null(),
      Type.Object(
        {
          field: FieldNumber,
          dataset: Type.Optional(Type.String({ pattern: '^[0-9A-F]{2}$' })),
          panSequenceNumber: Type.Optional(FieldNumber),
        },
        closed,
      ),
    ]),
    /**
     * How track 2 was read. `contactless`, `fallback`: entry modes of a contactless stripe, and of
     * a stripe that was read because the chip could not be. `chipTerminal`: where a terminal says
     * that it can read chips; null: nowhere.
     */
    stripe: Type.Object(
      {
        field: FieldNumber,
        contactless: Texts,
        fallback: Texts,
        chipTerminal: Type.Union([Type.Null(), Type.Object({ ...Place, values: Texts }, closed)]),
      },
      closed,
    ),
    /** Where the value of a 3-D Secure authentication is; null: nowhere. */
    cavv: Type.Union([
      Type.Null(),
      Type.Object({ field: FieldNumber, part: Type.Optional(Type.String()) }, closed),
    ]),
    /** Where the address of the cardholder is, and the result of its comparison; null: nowhere. */
    addressCheck: Type.Union([
      Type.Null(),
      Type.Object(
        {
          postalCode: TextPlace,
          addressLine: TextPlace,
          result: Type.Object(
            {
              field: FieldNumber,
              part: Type.Optional(Type.String()),
              header: Type.Optional(Type.String()),
              at: Type.Optional(Count),
              values: textsBy(addressVerdicts),
            },
            closed,
          ),
        },
        closed,
      ),
    ]),
    /** Field 39 for each outcome that differs. */
    responses: textsBy(outcomes),
    /** Field 39 for accepted messages, by class of message, and for advices. */
    accepted: textsBy(['1', '2', '4', '8', 'advice']),
    mac: Type.Union([
      Type.Null(),
      Type.Object(
        {
          control: FieldNumber,
          indexAt: Count,
          keyName: Type.String({ pattern: '^[a-z0-9{}-]{1,40}$' }),
          without: Type.String(),
          /** The significant bytes of the MAC; the others are zeros. */
          length: Type.Enum([4, 8]),
        },
        closed,
      ),
    ]),
    keyChange: Type.Object(
      { block: FieldNumber, checkValue: FieldNumber, control: FieldNumber, indexAt: Count },
      closed,
    ),
    timers: Type.Object({ frameMs: timer, answerMs: timer, echoMs: timer }, closed),
  },
  closed,
)

/** A profile in its written form, with the profile that it extends. */
export type ProfileText = Static<typeof ProfileSchema>

/** The form and the meaning of one network's messages. */
export interface Profile extends Omit<ProfileText, 'layout' | 'encoding'> {
  readonly version: Version
  readonly layout: Layout
}

export type Profiles = ReadonlyMap<string, Profile>
