import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { codeBlock, type RenderedDocument, renderDescription, type Section } from '../markdown.ts'
import {
  type ApiDocument,
  type Installation,
  listOperations,
  type PlacedOperation,
} from './openapi.ts'
import { operationContent } from './operation.ts'
import { listMemberNames } from './schema.ts'

/** The pages of an interface by their addresses, the one that all of it begins with first. */
export type ApiPages = ReadonlyMap<string, RenderedDocument>

/** Texts about an interface beside its document. */
interface ApiDescription {
  readonly title: string
  /** Address of the first page. */
  readonly address: string
  /** The client of `sandbox.json` that may call it. */
  readonly client: string
  readonly installation: Installation
}

/** Renders the pages of an interface: one for all of it, and one for each tag. */
export function renderApi(document: ApiDocument, described: ApiDescription): ApiPages {
  const operations = listOperations(document)
  const pages = document.tags.map(({ description, name }) => {
    const own = operations.filter(({ tags }) => tags.includes(name))
    return [composeAddress(described, name), tagPage(document, name, description, own)] as const
  })
  return new Map([[described.address, overview(document, described, operations)], ...pages])
}

const composeAddress = ({ address }: Pick<ApiDescription, 'address'>, tag: string): string =>
  `${address}/${tag.toLowerCase().replaceAll(' ', '-')}`

function tagPage(
  document: ApiDocument,
  name: string,
  description: string,
  operations: readonly PlacedOperation[],
): RenderedDocument {
  return {
    title: name,
    body: html`<h1 id="top">${name}</h1>
      ${renderDescription(description)}
      ${operations.map((operation) => operationContent(operation, document))}`,
    sections: [
      { id: 'top', level: 1, title: name, text: description },
      ...operations.map((operation) => operationSection(operation, document)),
    ],
  }
}

/** The searched text of an operation: its call, its description and the names of its members. */
function operationSection(operation: PlacedOperation, { components }: ApiDocument): Section {
  const { description = '', method, operationId, path, requestBody, responses, summary } = operation
  const media = [requestBody ?? {}, ...Object.values(responses)].flatMap((each) =>
    'content' in each ? Object.values(each.content ?? {}) : [],
  )
  const names = media.flatMap(({ schema }) => listMemberNames(schema, components.schemas))
  const text = [method, path, description, ...new Set(names)].join(' ')
  return { id: operationId, level: 2, title: summary, text }
}

function overview(
  document: ApiDocument,
  described: ApiDescription,
  operations: readonly PlacedOperation[],
): RenderedDocument {
  const { description } = document.info
  const { title } = described
  const [server] = document.servers
  return {
    title,
    body: html`<h1 id="top">${title}</h1>
      ${renderDescription(description)}
      <p>Version ${document.info.version}. Base URL <code>${server?.url}</code>.
        <a href="${described.address}.json">OpenAPI document</a></p>
      ${tokenContent(described)}
      <h2 id="operations"><a href="#operations">Operations</a></h2>
      ${document.tags.map((tag) => operationsTable(tag, described, operations))}
      ${scopesTable(document, operations)}`,
    sections: [
      { id: 'top', level: 1, title, text: description },
      { id: 'token', level: 2, title: 'Token', text: 'The commands on these pages read $TOKEN.' },
      { id: 'operations', level: 2, title: 'Operations', text: '' },
      { id: 'scopes', level: 2, title: 'Scopes', text: '' },
    ],
  }
}

const tokenContent = ({ client, installation }: ApiDescription): Html =>
  html`<h2 id="token"><a href="#token">Token</a></h2>
    <p>The commands on these pages read <code>$TOKEN</code>. In a sandbox, in the folder that it was
      started in:</p>
    ${codeBlock(`field() { node -pe "JSON.parse(require('fs').readFileSync(0)).$1"; }
CLIENT=$(field ${client}clientId < .data/sandbox.json)
SECRET=$(field ${client}clientSecret < .data/sandbox.json)
TOKEN=$(curl -sS -u "$CLIENT:$SECRET" -d grant_type=client_credentials \\
  ${installation.baseUrl}/oauth/token | field access_token)`)}`

function operationsTable(
  { description, name }: ApiDocument['tags'][number],
  described: ApiDescription,
  operations: readonly PlacedOperation[],
): Content {
  const address = composeAddress(described, name)
  const rows = operations
    .filter(({ tags }) => tags.includes(name))
    .map(
      ({ method, operationId, path, summary }) => html`<tr>
        <td><a href="${address}#${operationId}">${summary}</a></td>
        <td><code>${method} ${path}</code></td>
      </tr>`,
    )
  return html`<h3><a href="${address}">${name}</a></h3>
    ${renderDescription(description)}
    <div class="scroll" tabindex="0"><table>
      <thead><tr><th>operation</th><th>call</th></tr></thead>
      <tbody>${rows}</tbody>
    </table></div>`
}

/** The scopes that an operation of this interface requires. */
function scopesTable({ components }: ApiDocument, operations: readonly PlacedOperation[]): Content {
  const used = new Set(
    operations.flatMap(({ security = [] }) => security.flatMap(({ oauth2 = [] }) => oauth2)),
  )
  const { scopes } = components.securitySchemes.oauth2.flows.clientCredentials
  const rows = Object.entries(scopes)
    .filter(([scope]) => used.has(scope))
    .map(([scope, text]) => html`<tr><td><code>${scope}</code></td><td>${text}</td></tr>`)
  return html`<h2 id="scopes"><a href="#scopes">Scopes</a></h2>
    <div class="scroll" tabindex="0"><table>
      <thead><tr><th>scope</th><th>allows</th></tr></thead>
      <tbody>${rows}</tbody>
    </table></div>`
}
