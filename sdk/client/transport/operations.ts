import type { operations } from '../generated/openapi.ts'

/** The name of an operation in the document. */
export type OperationId = keyof operations

type Successes<Id extends OperationId> =
  operations[Id]['responses'][keyof operations[Id]['responses'] & (200 | 201 | 202 | 204)]

/** What an operation answers when it succeeds; nothing with a 204. */
export type Result<Id extends OperationId> =
  Successes<Id> extends { readonly content: { readonly 'application/json': infer Json } }
    ? Json
    : undefined

/** What an operation takes as its body. */
export type Body<Id extends OperationId> =
  NonNullable<operations[Id]['requestBody']> extends {
    readonly content: { readonly 'application/json': infer Json }
  }
    ? Json
    : never

/** What an operation takes in its query. */
export type Query<Id extends OperationId> = NonNullable<operations[Id]['parameters']['query']>

/** What an operation lists. */
export type Item<Id extends OperationId> = Result<Id> extends readonly (infer Each)[] ? Each : never
