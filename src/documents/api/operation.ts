import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { codeBlock, renderDescription } from '../markdown.ts'
import { curlCommand } from './curl.ts'
import {
  type ApiDocument,
  type ApiResponse,
  type Parameter,
  type PlacedOperation,
  resolveReference,
} from './openapi.ts'
import { membersContent, schemaContent } from './schema.ts'

/** Renders an operation: its call, what it takes, what it returns, and its errors. */
export function operationContent(operation: PlacedOperation, document: ApiDocument): Html {
  const { description, method, operationId, path, summary } = operation
  return html`<section class="operation" id="${operationId}">
    <h2><a href="#${operationId}">${summary}</a></h2>
    <p class="call"><b>${method}</b> <code>${path}</code></p>
    ${description !== undefined && renderDescription(description)}
    ${scopesContent(operation)}
    ${codeBlock(curlCommand(operation, document))}
    ${parametersContent(operation, document)}
    ${bodyContent(operation, document)}
    ${answersContent(operation, document)}
    ${errorsContent(operation, document)}
  </section>`
}

function scopesContent({ security = [] }: PlacedOperation): Content {
  const scopes = security.flatMap(({ oauth2 = [] }) => oauth2)
  if (scopes.length === 0) return html`<p class="fine">No token is required.</p>`
  const names = scopes.map((scope, index) => html`${index > 0 && ' or '}<code>${scope}</code>`)
  return html`<p class="fine">Scope ${names}</p>`
}

function parametersContent({ parameters = [] }: PlacedOperation, document: ApiDocument): Content {
  if (parameters.length === 0) return null
  const { components } = document
  const members = parameters
    .map((each) => resolveReference<Parameter>(each, components.parameters))
    .map(({ description, in: place, name, required = false, schema }) => ({
      name,
      isRequired: required,
      schema,
      description: `${capitalize(place)}. ${description ?? schema.description ?? ''}`,
    }))
  return html`<h3>Parameters</h3>${membersContent(members, components.schemas)}`
}

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function bodyContent({ requestBody }: PlacedOperation, { components }: ApiDocument): Content {
  const media = requestBody?.content['application/json']
  if (!media) return null
  return html`<h3>Body${!requestBody?.required && html` <small>optional</small>`}</h3>
    ${schemaContent(media.schema, components.schemas)}`
}

/** Headers that every answer has; the page of the interface describes them. */
const commonHeaders = new Set(['X-Request-Id', 'Api-Version', 'RateLimit', 'RateLimit-Policy'])

const listResponses = ({ responses }: PlacedOperation, { components }: ApiDocument) =>
  Object.entries(responses).map(
    ([status, each]) =>
      [status, resolveReference<ApiResponse>(each, components.responses)] as const,
  )

const answersContent = (operation: PlacedOperation, document: ApiDocument): Content =>
  listResponses(operation, document)
    .filter(([, { content = {} }]) => !('application/problem+json' in content))
    .map(([status, response]) => answerContent(status, response, document))

function answerContent(status: string, response: ApiResponse, { components }: ApiDocument) {
  const { schemas } = components
  const headers = Object.keys(response.headers ?? {}).filter((name) => !commonHeaders.has(name))
  const described = headers.map((name) => ({
    name,
    isRequired: false,
    schema: { type: 'header' },
    description: components.headers[name]?.description ?? '',
  }))
  const [media] = Object.values(response.content ?? {})
  return html`<h3>${status} ${response.description.replace(/\.$/, '')}</h3>
    ${headers.length > 0 && membersContent(described, schemas)}
    ${media && schemaContent(media.schema, schemas)}
    ${media?.example !== undefined && codeBlock(JSON.stringify(media.example, null, 2))}`
}

function errorsContent(operation: PlacedOperation, document: ApiDocument): Content {
  const rows = listResponses(operation, document).flatMap(([status, { content = {} }]) =>
    Object.entries(content['application/problem+json']?.examples ?? {}).map(
      ([code, { value }]) => html`<tr>
        <td>${status}</td>
        <td><a href="/docs/reference/errors#${code}"><code>${code}</code></a></td>
        <td>${value.title}</td>
      </tr>`,
    ),
  )
  return html`<details>
    <summary>Errors (${rows.length})</summary>
    <div class="scroll" tabindex="0"><table>
      <thead><tr><th>status</th><th>code</th><th>title</th></tr></thead>
      <tbody>${rows}</tbody>
    </table></div>
  </details>`
}
