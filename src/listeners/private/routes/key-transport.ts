import Type from 'typebox'
import { exportKey, importKey } from '../../../operations/keys/key-transport.ts'
import type { KeyOperations } from '../../../operations/keys/keys.ts'

import { answerOf, repeatable } from '../../http/repeatable.ts'
import type { Server } from '../../http/server.ts'
import {
  checkValue,
  closedObject,
  KeptVersionSchema,
  keyName,
  targetMembers,
  targetOf,
  versionMax,
} from '../schemas/keys.ts'
import { operatorOf } from './audit.ts'

const actWithBody = { access: 'admin', bodyRequired: true, repeatable: true } as const
const tags = ['Keys']
const keyBlock = Type.String({ minLength: 16, maxLength: 9_999, pattern: '^[\\x20-\\x7e]+$' })

/** Keys that come and go, as key blocks under a zone master key and in no other form. */
export function travelRoutes(app: Server['app'], keys: KeyOperations): void {
  importRoute(app, keys)
  exportRoute(app, keys)
}

function importRoute(app: Server['app'], keys: KeyOperations): void {
  app.post(
    '/keys/import',
    {
      config: { ...actWithBody, problems: ['key_in_use', 'key_refused'] },
      schema: {
        operationId: 'importKey',
        summary: 'Import a key block',
        tags,
        body: Type.Object(
          {
            ...targetMembers,
            zoneMasterKey: keyName,
            keyBlock,
            keyCheckValue: Type.Optional(checkValue),
          },
          closedObject,
        ),
        response: { 201: KeptVersionSchema },
      },
    },
    async (request, reply) => {
      const { keyBlock: block, keyCheckValue = null, zoneMasterKey, ...target } = request.body
      const key = { target: targetOf(target), zoneMasterKey, keyBlock: block, keyCheckValue }
      const answer = await importKey(keys, operatorOf(request), key, repeatable(request))
      return reply.code(201).send(answerOf(reply, answer))
    },
  )
}

function exportRoute(app: Server['app'], keys: KeyOperations): void {
  app.post(
    '/keys/export',
    {
      config: { ...actWithBody, problems: ['not_found', 'key_refused'] },
      schema: {
        operationId: 'exportKey',
        summary: 'Export a key block',
        tags,
        body: Type.Object(
          {
            key: keyName,
            version: Type.Optional(Type.Integer({ minimum: 1, maximum: versionMax })),
            clientId: targetMembers.clientId,
            zoneMasterKey: keyName,
          },
          closedObject,
        ),
        response: {
          200: Type.Object({
            key: Type.String(),
            keyBlock: Type.String(),
            keyCheckValue: Type.String(),
          }),
        },
      },
    },
    async (request, reply) => {
      const { clientId = null, key, version = null, zoneMasterKey } = request.body
      const leaving = { key, version, clientId, zoneMasterKey }
      return answerOf(
        reply,
        await exportKey(keys, operatorOf(request), leaving, repeatable(request)),
      )
    },
  )
}
