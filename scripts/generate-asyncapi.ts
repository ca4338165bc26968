import { apiVersion } from '../src/listeners/http/request.ts'
import { messageSchemas, PingMessageSchema } from '../src/listeners/public/schemas/events.ts'

const description = `The messages that Pinfold posts to the webhooks of a client, signed as Standard
Webhooks 1.0.0. A message may arrive more than once; its \`webhook-id\` stays the same. The
messages of one card arrive in order. Answer 2xx after you have stored the message.`

const header = (text: string, example: string) => ({
  type: 'string',
  description: text,
  examples: [example],
})

const headers = {
  type: 'object',
  required: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  properties: {
    'webhook-id': header(
      'The same for every attempt of a message.',
      '0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11',
    ),
    'webhook-timestamp': header(
      'When this attempt was signed, in seconds since 1970.',
      '1795161600',
    ),
    'webhook-signature': header(
      'HMAC-SHA256 of `id.timestamp.body`, one for each secret that is valid.',
      'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
    ),
  },
}

/** `pin.attempt_failed` is `PinAttemptFailed`. */
const composeName = (type: string): string =>
  type.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())

/**
 * Returns the text of api/events.asyncapi.json (AsyncAPI 3.0.0): the messages of webhooks, from
 * their schemas.
 */
export function generateAsyncapi(): string {
  const schemas: Record<string, object> = { ...messageSchemas, 'webhook.ping': PingMessageSchema }
  const names = Object.keys(schemas).map(composeName)
  const refer = (kind: string) => (name: string) => ({ $ref: `#/${kind}/${name}` })
  const document = {
    asyncapi: '3.0.0',
    info: {
      title: 'Pinfold events',
      version: apiVersion,
      description: description.replaceAll('\n', ' '),
      license: { name: 'Apache-2.0' },
    },
    defaultContentType: 'application/json',
    channels: {
      webhook: {
        address: null,
        description: 'The URL of a webhook, as its client set it.',
        messages: Object.fromEntries(
          names.map((name) => [name, refer('components/messages')(name)]),
        ),
      },
    },
    operations: {
      deliver: {
        action: 'send',
        summary: 'Post a message to a webhook',
        channel: { $ref: '#/channels/webhook' },
        bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
        messages: names.map(refer('channels/webhook/messages')),
      },
    },
    components: {
      messages: Object.fromEntries(
        Object.entries(schemas).map(([type, payload]) => [
          composeName(type),
          { name: type, contentType: 'application/json', headers, payload },
        ]),
      ),
    },
  }
  return `${JSON.stringify(document, null, 2)}\n`
}
