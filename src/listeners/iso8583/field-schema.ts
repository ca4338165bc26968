import Type from 'typebox'

export const closed = { additionalProperties: false } as const
export const Count = Type.Integer({ minimum: 0, maximum: 999 })
export const FieldNumber = Type.String({ pattern: '^([2-9]|[1-9][0-9]|1[01][0-9]|12[0-8])$' })
export const Texts = Type.Array(Type.String(), { maxItems: 64 })

const PrefixSchema = Type.Object(
  {
    digits: Type.Integer({ minimum: 1, maximum: 6 }),
    encoding: Type.Enum(['ascii', 'ebcdic', 'bcd', 'binary']),
    counts: Type.Optional(Type.Enum(['digits', 'bytes'])),
  },
  closed,
)

const FieldType = Type.Enum(['n', 'a', 'an', 'ans', 'x+n', 'z', 'b'])
const FieldEncoding = Type.Enum([
  ...(['ascii', 'ebcdic', 'utf-8', 'bcd', 'binary', 'hex-ascii', 'hex-ebcdic'] as const),
])
const fieldMembers = {
  type: Type.Optional(FieldType),
  encoding: Type.Optional(FieldEncoding),
  length: Type.Optional(Count),
  max: Type.Optional(Count),
  prefix: Type.Optional(PrefixSchema),
  oddPad: Type.Optional(Type.Enum(['left-0', 'right-0', 'right-f'])),
}

/** The structure of a value, as in codec/layout.ts. */
const PartsSchema = Type.Union([
  Type.Object({ kind: Type.Literal('ber-tlv') }, closed),
  Type.Object(
    {
      kind: Type.Literal('tlv'),
      tagLength: Type.Integer({ minimum: 1, maximum: 9 }),
      lengthDigits: Type.Integer({ minimum: 1, maximum: 6 }),
      header: Type.Optional(Count),
      optional: Type.Optional(Type.Literal(true)),
    },
    closed,
  ),
  Type.Object({ kind: Type.Literal('row'), lengths: Type.Record(Type.String(), Count) }, closed),
  Type.Object(
    {
      kind: Type.Literal('bitmap'),
      encoding: Type.Enum(['binary', 'hex-ascii', 'hex-ebcdic']),
      bits: Type.Integer({ minimum: 8, maximum: 128, multipleOf: 8 }),
      header: Type.Optional(Count),
      optional: Type.Optional(Type.Literal(true)),
      fields: Type.Record(
        Type.String({ pattern: '^([1-9]|[1-9][0-9]|1[01][0-9]|12[0-8])$' }),
        Type.Object({ ...fieldMembers, type: FieldType, encoding: FieldEncoding }, closed),
      ),
    },
    closed,
  ),
])

/** A field of a profile that differs from the standard; `parts` null: without parts. */
export const FieldChangeSchema = Type.Object(
  { ...fieldMembers, parts: Type.Optional(Type.Union([PartsSchema, Type.Null()])) },
  closed,
)
