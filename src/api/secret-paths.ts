import {
  ChangeCardStatusSchema,
  CreateCardSchema,
  SetPinSchema,
  UnblockPinSchema,
  UpdateCvvStatusSchema,
} from './schemas/requests.ts'
import { PinSchema } from './schemas/responses.ts'
import { CreatedWebhookSchema } from './schemas/webhooks.ts'

interface SchemaNode {
  readonly 'x-secret'?: boolean
  readonly properties?: Readonly<Record<string, SchemaNode>>
}

const schemas: readonly SchemaNode[] = [
  CreateCardSchema,
  SetPinSchema,
  UpdateCvvStatusSchema,
  UnblockPinSchema,
  ChangeCardStatusSchema,
  PinSchema,
  CreatedWebhookSchema,
] as readonly SchemaNode[]

/** The members that a schema marks secret, wherever they stand in it. */
const secretNames = (schema: SchemaNode): string[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    ...(member['x-secret'] ? [name] : []),
    ...secretNames(member),
  ])

/**
 * What a log must mask, as the schemas say it. No body is ever logged on purpose: this is for the day
 * when somebody does.
 */
export const secretPaths: readonly string[] = [...new Set(schemas.flatMap(secretNames))].flatMap(
  (name) => [name, `*.${name}`, `*.*.${name}`],
)
