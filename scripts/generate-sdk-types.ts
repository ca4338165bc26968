import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** The documents of both listeners, and the file of types of each. */
const typesByDocument = {
  'api/public.openapi.json': 'packages/sdk/client/generated/openapi.ts',
  'api/private.openapi.json': 'packages/sdk/admin/generated/openapi.ts',
} as const

/** The longest line of a generated file, unless one word is longer. */
const columnsMost = 100

/**
 * Returns the SDK's files of types by their paths, from the OpenAPI documents in the project.
 * @param root the folder of the project.
 */
export function generateSdkTypes(root: string): Readonly<Record<string, string>> {
  const files = Object.entries(typesByDocument).map(([document, path]) => {
    const words = ['run', '--silent', 'types', '--workspace', '@pinfold/sdk', '--']
    const types = execFileSync('npm', [...words, join(root, document)], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    })
    return [path, types.split('\n').flatMap(breakLine).join('\n')] as const
  })
  return Object.fromEntries(files)
}

/** Breaks a line that is too long: a comment between its words, a type between its members. */
function breakLine(line: string): readonly string[] {
  if (line.length <= columnsMost) return [line]
  const [, indent = '', text] = /^( *)\/\*\* (.*) \*\/$/.exec(line) ?? []
  if (text !== undefined) {
    return [`${indent}/**`, ...breakComment(`${indent} * `, text), `${indent} */`]
  }
  const [, stars, words] = /^( *\* +)([^ ].*)$/.exec(line) ?? []
  if (stars !== undefined && words !== undefined) return breakComment(stars, words)
  return breakType(line)
}

/** Wraps a text between words. A description goes on under its tag. */
function breakComment(start: string, text: string): readonly string[] {
  const lines: string[] = []
  let line = start
  for (const word of text.split(' ')) {
    const longer = /[* ]$/.test(line) ? `${line}${word}` : `${line} ${word}`
    if (longer.length <= columnsMost || line === start) {
      line = longer
    } else {
      lines.push(line)
      line = `${start}${text.startsWith('@') ? '    ' : ''}${word}`
    }
  }
  return [...lines, line]
}

const union = /"[^"]*"(?: \| "[^"]*")+/

/** Writes each member of the line's first union of texts on a line of its own. */
function breakType(line: string): readonly string[] {
  const [members] = union.exec(line) ?? []
  if (members === undefined) return [line]
  const indent = /^ */.exec(line)?.[0] ?? ''
  const [before = '', after = ''] = line.split(members)
  const rest = members.split(' | ').map((member) => `${indent}    | ${member}`)
  // Behind a closing bracket, the type goes on in the line of the bracket.
  if (before.endsWith('(')) return [before, ...rest, `${indent}${after}`]
  const last = rest.pop() ?? ''
  return [before.trimEnd(), ...rest, `${last}${after}`]
}
