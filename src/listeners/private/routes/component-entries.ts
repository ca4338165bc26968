import Type from 'typebox'
import { isUuid } from '../../../domain/identifiers.ts'
import { Problem } from '../../../domain/problem.ts'
import * as componentEntries from '../../../operations/keys/component-entries.ts'
import { enterComponent } from '../../../operations/keys/enter-component.ts'
import { cutPage, PageQuerySchema, parseInstant, parseLimit, readCursor } from '../../http/pages.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import { closed } from '../../http/validation.ts'
import { createRequester, keysChange, keysRead, type PrivateApi } from '../api.ts'
import { ComponentEntrySchema } from '../schemas/component-entries.ts'
import { checkValue, parseKeyTarget, targetMembers } from '../schemas/keys.ts'

const tags = ['Keys']

/** Routes for keys that several people enter in components. */
export function componentEntryRoutes({ app, keys }: PrivateApi): void {
  app.get(
    '/component-entries',
    {
      config: keysRead,
      schema: {
        operationId: 'listComponentEntries',
        summary: 'List the entries that wait for components',
        tags,
        querystring: PageQuerySchema,
        response: { 200: Type.Array(ComponentEntrySchema) },
      },
    },
    async (request, reply) => {
      const pageSize = parseLimit(request.query.limit)
      const after = readCursor(request.query.cursor, ([at, entryId]) => {
        const instant = parseInstant(at)
        return instant !== null && isUuid(entryId) ? { at: instant, entryId } : null
      })
      const entries = await componentEntries.listEntries(keys, after, pageSize + 1)
      return cutPage(request, reply, entries, {
        limit: pageSize,
        toPosition: ({ position }) => [position.at, position.entryId],
      }).map(entryAnswer)
    },
  )
  app.get(
    '/component-entries/:entryId',
    {
      config: keysRead,
      schema: {
        operationId: 'findComponentEntry',
        summary: 'Read an entry that waits for components',
        tags,
        params: Type.Object({ entryId: Type.String() }),
        response: { 200: ComponentEntrySchema },
      },
    },
    async ({ params }) => {
      if (!isUuid(params.entryId)) throw new Problem('not_found')
      return entryAnswer(await componentEntries.findEntry(keys, params.entryId))
    },
  )
}

export function openComponentEntryRoute({ app, keys }: PrivateApi): void {
  app.post(
    '/component-entries',
    {
      config: { ...keysChange, problems: ['key_in_use', 'key_refused'] },
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
        response: { 201: ComponentEntrySchema },
      },
    },
    async (request, reply) => {
      const { algorithm, componentCount, keyCheckValue, lengthBytes, ...target } = request.body
      const form = { algorithm, lengthBytes }
      const entry = { target: parseKeyTarget(target), form, componentCount, keyCheckValue }
      const answer = await componentEntries.openEntry(
        keys,
        createRequester(request),
        entry,
        repeatable(request),
      )
      return reply.code(201).send(entryAnswer(markReplay(reply, answer)))
    },
  )
}

export function enterComponentRoute({ app, keys }: PrivateApi): void {
  app.post(
    '/component-entries/:entryId/components',
    {
      config: {
        access: keysChange.access,
        bodyRequired: true,
        // A repeat is refused because the person has already entered one; the entry lists those
        // people.
        notRepeatable: 'components are deleted with their entry, without a fingerprint',
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
          closed,
        ),
        response: { 200: ComponentEntrySchema },
      },
    },
    async (request) => {
      const { entryId } = request.params
      if (!isUuid(entryId)) throw new Problem('not_found')
      return entryAnswer(
        await enterComponent(keys, createRequester(request), entryId, request.body),
      )
    },
  )
}

const entryAnswer = ({ entered, ...progress }: componentEntries.EntryProgress) => ({
  ...progress,
  entered: entered.map(({ confirmedBy, controlledBy, ...component }) => ({
    ...component,
    confirmedBy: [...confirmedBy],
    controlledBy: [...controlledBy],
  })),
})
