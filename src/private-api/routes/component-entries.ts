import Type from 'typebox'
import type { Server } from '../../http/server.ts'
import {
  type EntryProgress,
  enterComponent,
  openEntry,
} from '../../key-management/enter-components.ts'
import type { KeyManagement } from '../../key-management/key-management.ts'
import { checkValue, closed, KeptVersionSchema, targetMembers, targetOf } from './key-schemas.ts'
import { operatorOf } from './operator.ts'

const ProgressSchema = Type.Object({
  entryId: Type.String(),
  componentCount: Type.Integer(),
  entered: Type.Array(Type.Object({ componentNumber: Type.Integer(), person: Type.String() })),
  expiresAt: Type.String({ format: 'date-time' }),
  key: Type.Union([KeptVersionSchema, Type.Null()]),
})

const tags = ['Keys']
const config = { access: 'admin', bodyRequired: true } as const

/**
 * Keys that several people bring, each a component. An idempotency key is not honoured here: nothing
 * of a component may be remembered, not even as a fingerprint.
 */
export function componentEntryRoutes(app: Server['app'], keys: KeyManagement): void {
  app.post(
    '/component-entries',
    {
      config,
      schema: {
        operationId: 'openComponentEntry',
        summary: 'Open the entry of a key in components',
        tags,
        body: Type.Object(
          {
            ...targetMembers,
            algorithm: Type.Enum(['TDES', 'AES'] as const),
            lengthBytes: Type.Enum([16, 24, 32] as const),
            componentCount: Type.Integer({ minimum: 2, maximum: 3 }),
            keyCheckValue: checkValue,
          },
          closed,
        ),
        response: { 201: ProgressSchema },
      },
    },
    async (request, reply) => {
      const { algorithm, componentCount, keyCheckValue, lengthBytes, ...target } = request.body
      const form = { algorithm, lengthBytes }
      const entry = { target: targetOf(target), form, componentCount, keyCheckValue }
      return reply.code(201).send(told(await openEntry(keys, operatorOf(request), entry)))
    },
  )
  componentRoute(app, keys)
}

function componentRoute(app: Server['app'], keys: KeyManagement): void {
  app.post(
    '/component-entries/:entryId/components',
    {
      config,
      schema: {
        operationId: 'enterComponent',
        summary: 'Enter a component',
        tags,
        params: Type.Object({
          entryId: Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }),
        }),
        body: Type.Object(
          {
            person: Type.String({
              minLength: 1,
              maxLength: 64,
              pattern: '^[\\p{L}\\p{N} .-]+$',
              format: 'free-text',
            }),
            component: Type.String({ minLength: 16, maxLength: 64, 'x-secret': true }),
            keyCheckValue: checkValue,
          },
          closed,
        ),
        response: { 200: ProgressSchema },
      },
    },
    async (request) =>
      told(await enterComponent(keys, operatorOf(request), request.params.entryId, request.body)),
  )
}

const told = ({ entered, expiresAt, ...progress }: EntryProgress) => ({
  ...progress,
  entered: [...entered],
  expiresAt: expiresAt.toISOString(),
})
