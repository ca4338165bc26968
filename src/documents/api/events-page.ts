import { html } from '../../listeners/http/html.ts'
import { codeBlock, type RenderedDocument, renderDescription } from '../markdown.ts'
import { type Schema, sampleValue, schemaContent } from './schema.ts'

/** An AsyncAPI document, as far as its page shows it. */
export interface EventsDocument {
  readonly info: { readonly version: string; readonly description: string }
  readonly components: {
    readonly messages: Readonly<
      Record<string, { readonly name: string; readonly headers: Schema; readonly payload: Schema }>
    >
  }
}

const title = 'Webhook messages'

/** Renders the messages that webhooks receive. */
export function renderEvents({ components, info }: EventsDocument): RenderedDocument {
  const messages = Object.values(components.messages)
  const headers = messages[0]?.headers ?? {}
  const parts = messages.map(
    ({ name, payload }) => html`<section class="operation" id="${name}">
      <h2><a href="#${name}"><code>${name}</code></a></h2>
      ${schemaContent(payload, {})}
      ${codeBlock(JSON.stringify(sampleValue(payload, {}), null, 2))}
    </section>`,
  )
  return {
    title,
    body: html`<h1 id="top">${title}</h1>
      ${renderDescription(info.description)}
      <p>Version ${info.version}. <a href="/docs/api/events.json">AsyncAPI document</a>.
        <a href="/docs/reference/webhooks">Events and webhooks</a></p>
      <h2 id="headers"><a href="#headers">Headers</a></h2>
      ${schemaContent(headers, {})}
      ${parts}`,
    sections: [
      { id: 'top', level: 1, title, text: info.description },
      { id: 'headers', level: 2, title: 'Headers', text: 'webhook-id webhook-signature' },
      ...messages.map(({ name }) => ({ id: name, level: 2, title: name, text: 'webhook event' })),
    ],
  }
}
