import Type, { type Static } from 'typebox'

const closed = { additionalProperties: false }
const name = '^[a-z][a-zA-Z0-9]{0,31}$'

/** The clients of `sandbox.json` that a step can call as. */
const callers = ['client', 'otherClient', 'network', 'admin'] as const

const CardSchema = Type.Object(
  {
    product: Type.Optional(
      Type.Integer({ description: 'The `productId`. Default: 1001.', examples: [1001] }),
    ),
    type: Type.Optional(Type.Enum(['Virtual', 'Physical'], { description: 'Default: Virtual.' })),
    activated: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
    of: Type.Optional(
      Type.Enum(['client', 'otherClient'], { description: 'The client. Default: client.' }),
    ),
    knows: Type.Optional(
      Type.Array(Type.Enum(['pin', 'cvv']), {
        maxItems: 2,
        description: 'What the cardholder has read. Later steps name it: `ana.pin`, `ana.cvv`.',
      }),
    ),
  },
  { ...closed, description: 'An actor: a cardholder with a new card.' },
)

const StepSchema = Type.Object(
  {
    step: Type.String({ minLength: 1, maxLength: 200, description: 'What happens, in words.' }),
    call: Type.String({
      pattern: '^(GET|POST|PUT|PATCH|DELETE) /[^ ]*$',
      description:
        'Method and path. Paths of clients are relative to `/thr/processor`; those of networks ' +
        'and administrators are paths of the private listener.',
      examples: ['POST /simulator/authorizations'],
    }),
    as: Type.Optional(Type.Enum([...callers], { description: 'Who calls. Default: client.' })),
    body: Type.Optional(Type.Unknown({ description: 'Sent as JSON.' })),
    idempotencyKey: Type.Optional(
      Type.String({
        pattern: '^[\\x21-\\x7e]{1,255}$',
        description: 'Visible ASCII characters, at most 255.',
      }),
    ),
    times: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'How often. Each has the answer.' }),
    ),
    expect: Type.Object(
      {
        status: Type.Integer({ minimum: 100, maximum: 599 }),
        headers: Type.Optional(Type.Record(Type.String(), Type.String())),
        body: Type.Optional(
          Type.Unknown({
            description:
              'Members that the answer has; others are ignored. A list has exactly these ' +
              'entries. `<any>`, `<absent>`, `<id>` and `<instant>` stand for values.',
          }),
        ),
      },
      closed,
    ),
    save: Type.Optional(
      Type.Record(Type.String({ pattern: name }), Type.String({ pattern: '^/' }), {
        description: 'Values of the answer by JSON Pointer. Later steps use them by these names.',
      }),
    ),
  },
  closed,
)

/** A scenario file. */
export const ScenarioSchema = Type.Object(
  {
    scenario: Type.String({ minLength: 1, maxLength: 200, description: 'What it shows.' }),
    clock: Type.Optional(
      Type.String({
        description: 'The instant at which it begins, in the future. Default: now.',
        examples: ['2031-03-03T09:00:00Z'],
      }),
    ),
    cards: Type.Optional(Type.Record(Type.String({ pattern: name }), CardSchema)),
    steps: Type.Array(StepSchema, { minItems: 1, maxItems: 500 }),
    events: Type.Optional(
      Type.Record(Type.String({ pattern: name }), Type.Array(Type.String(), { maxItems: 500 }), {
        description: 'The types of the events of each card during the steps, in order.',
      }),
    ),
  },
  closed,
)

export type Scenario = Static<typeof ScenarioSchema>
export type Step = Scenario['steps'][number]
export type CardActor = NonNullable<Scenario['cards']>[string]
export type CallerName = (typeof callers)[number]
