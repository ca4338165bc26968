import Type from 'typebox'
import { exportKey, importKey } from '../../../operations/keys/key-transport.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import { closed } from '../../http/validation.ts'
import { createRequester, keysChange, type PrivateApi } from '../api.ts'
import * as keySchemas from '../schemas/keys.ts'
import { actReason } from '../schemas/reasons.ts'

const tags = ['Keys']
const keyBlock = Type.String({ minLength: 16, maxLength: 9_999, pattern: '^[\\x20-\\x7e]+$' })

/** Routes that import and export keys, only as key blocks under a zone master key. */
export function importKeyRoute({ app, keys }: PrivateApi): void {
  app.post(
    '/keys/import',
    {
      config: { ...keysChange, problems: ['key_in_use', 'key_refused'] },
      schema: {
        operationId: 'importKey',
        summary: 'Import a key block',
        tags,
        body: Type.Object(
          {
            ...keySchemas.targetMembers,
            zoneMasterKey: keySchemas.keyName,
            keyBlock,
            keyCheckValue: Type.Optional(keySchemas.checkValue),
          },
          closed,
        ),
        response: { 201: keySchemas.KeptVersionSchema },
      },
    },
    async (request, reply) => {
      const { keyBlock: block, keyCheckValue = null, zoneMasterKey, ...target } = request.body
      const key = {
        target: keySchemas.parseKeyTarget(target),
        zoneMasterKey,
        keyBlock: block,
        keyCheckValue,
      }
      const answer = await importKey(keys, createRequester(request), key, repeatable(request))
      return reply.code(201).send(markReplay(reply, answer))
    },
  )
}

export function exportKeyRoute({ app, keys }: PrivateApi): void {
  app.post(
    '/keys/export',
    {
      config: {
        ...keysChange,
        problems: ['not_found', 'key_refused'],
        approval: { kinds: ['key-export'] },
      },
      schema: {
        operationId: 'exportKey',
        summary: 'Export a key block',
        tags,
        body: Type.Object(
          {
            key: keySchemas.keyName,
            version: Type.Optional(Type.Integer({ minimum: 1, maximum: keySchemas.versionMax })),
            clientId: keySchemas.targetMembers.clientId,
            zoneMasterKey: keySchemas.keyName,
            reason: actReason,
          },
          closed,
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
      const { clientId = null, key, reason, version = null, zoneMasterKey } = request.body
      const asked = { key, version, clientId, zoneMasterKey }
      const operator = createRequester(request, reason)
      return markReplay(reply, await exportKey(keys, operator, asked, repeatable(request)))
    },
  )
}
