import Type from 'typebox'
import { isUuid } from '../../../domain/identifiers.ts'
import { Problem } from '../../../domain/problem.ts'
import {
  type EntryPosition,
  type EntryProgress,
  findEntry,
  listEntries,
  openEntry,
} from '../../../operations/keys/component-entries.ts'
import { enterComponent } from '../../../operations/keys/enter-component.ts'
import type { KeyOperations } from '../../../operations/keys/keys.ts'
import { pageOf, parseInstant, parseLimit, readCursor } from '../../http/pages.ts'
import { answerOf, repeatable } from '../../http/repeatable.ts'
import type { Server } from '../../http/server.ts'
import {
  checkValue,
  closedObject,
  KeptVersionSchema,
  targetMembers,
  targetOf,
} from '../schemas/keys.ts'
import { PageQuerySchema } from '../schemas/products.ts'
import { operatorOf } from './audit.ts'

const ids = Type.Array(Type.String())

const ProgressSchema = Type.Object({
  entryId: Type.String(),
  family: Type.String(),
  target: Type.String({ description: 'What the key is to become.' }),
  openedBy: Type.String(),
  componentCount: Type.Integer(),
  entered: Type.Array(
    Type.Object({
      componentNumber: Type.Integer(),
      person: Type.String(),
      clientId: Type.String(),
      createdBy: Type.Union([Type.String(), Type.Null()]),
      confirmedBy: ids,
      controlledBy: Type.Array(Type.String(), {
        description: 'Administrators who could act for that client when it brought the component.',
      }),
    }),
  ),
  expiresAt: Type.String({ format: 'date-time' }),
  key: Type.Union([KeptVersionSchema, Type.Null()]),
})

const tags = ['Keys']
const admin = { access: 'admin' } as const

/** Keys that several people bring, each a component. */
export function componentEntryRoutes(app: Server['app'], keys: KeyOperations): void {
  readingRoutes(app, keys)
  openRoute(app, keys)
  componentRoute(app, keys)
}

function readingRoutes(app: Server['app'], keys: KeyOperations): void {
  app.get(
    '/component-entries',
    {
      config: admin,
      schema: {
        operationId: 'listComponentEntries',
        summary: 'List the entries that wait for components',
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(ProgressSchema) },
      },
    },
    async (request, reply) => {
      const pageSize = parseLimit(request.query.limit)
      const after = readCursor(request.query.cursor, parsePosition)
      const entries = await listEntries(keys, after, pageSize + 1)
      return pageOf(request, reply, entries, pageSize, ({ position }) => [
        position.at,
        position.entryId,
      ]).map(told)
    },
  )
  app.get(
    '/component-entries/:entryId',
    {
      config: admin,
      schema: {
        operationId: 'findComponentEntry',
        summary: 'Read an entry that waits for components',
        tags,
        params: Type.Object({ entryId: Type.String() }),
        response: { 200: ProgressSchema },
      },
    },
    async ({ params }) => {
      if (!isUuid(params.entryId)) throw new Problem('not_found')
      return told(await findEntry(keys, params.entryId))
    },
  )
}

function parsePosition([at, entryId]: readonly unknown[]): EntryPosition | null {
  const instant = parseInstant(at)
  const isId = typeof entryId === 'string' && isUuid(entryId)
  return instant !== null && isId ? { at: instant, entryId } : null
}

function openRoute(app: Server['app'], keys: KeyOperations): void {
  app.post(
    '/component-entries',
    {
      config: {
        access: 'admin',
        bodyRequired: true,
        repeatable: true,
        problems: ['key_in_use', 'key_refused'],
      },
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
          closedObject,
        ),
        response: { 201: ProgressSchema },
      },
    },
    async (request, reply) => {
      const { algorithm, componentCount, keyCheckValue, lengthBytes, ...target } = request.body
      const form = { algorithm, lengthBytes }
      const entry = { target: targetOf(target), form, componentCount, keyCheckValue }
      const answer = await openEntry(keys, operatorOf(request), entry, repeatable(request))
      return reply.code(201).send(told(answerOf(reply, answer)))
    },
  )
}

function componentRoute(app: Server['app'], keys: KeyOperations): void {
  app.post(
    '/component-entries/:entryId/components',
    {
      config: {
        access: 'admin',
        bodyRequired: true,
        // Who sends it again is refused as the same person, and its entry tells who has come.
        notRepeatable: 'nothing of a component outlives its entry, not even as a fingerprint',
        problems: ['key_in_use', 'key_refused'],
      },
      schema: {
        operationId: 'enterComponent',
        summary: 'Enter a component',
        tags,
        params: Type.Object({ entryId: Type.String() }),
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
          closedObject,
        ),
        response: { 200: ProgressSchema },
      },
    },
    async (request) => {
      const { entryId } = request.params
      if (!isUuid(entryId)) throw new Problem('not_found')
      return told(await enterComponent(keys, operatorOf(request), entryId, request.body))
    },
  )
}

const told = ({ entered, ...progress }: EntryProgress) => ({
  ...progress,
  entered: entered.map(({ confirmedBy, controlledBy, ...component }) => ({
    ...component,
    confirmedBy: [...confirmedBy],
    controlledBy: [...controlledBy],
  })),
})
