/**
 * Reads the properties of each file that the rules need from the TypeScript compiler's syntax tree.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import {
  type FunctionLikeDeclaration,
  isArrayLiteralExpression,
  isCallExpression,
  isExportDeclaration,
  isFunctionLikeDeclaration,
  isIdentifier,
  isImportDeclaration,
  isImportTypeNode,
  isLiteralLikeNode,
  isLiteralTypeNode,
  isNamedImports,
  isNoSubstitutionTemplateLiteral,
  isObjectLiteralExpression,
  isPropertyAccessExpression,
  isSpreadAssignment,
  isSpreadElement,
  isStringLiteral,
  isTemplateHead,
  isVariableDeclaration,
  isVariableStatement,
  type Node,
  SyntaxKind,
  type SourceFile as SyntaxTree,
} from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'

type Import = {
  line: number
  specifier: string
  /** From the project's root; unset for a package or a module of Node. */
  path: string | undefined
}

/** A function that its module does not export. */
type PrivateFunction = { line: number; name: string; uses: number }

type FunctionSize = {
  line: number
  name: string
  lineCount: number
}

/** Paths are from the project's root, with `/`; lines count from 1. */
export type Source = {
  path: string
  lineCount: number
  imports: readonly Import[]
  importLineCount: number
  /** Lines over 100 columns, except titles of tests and unbreakable text. */
  longLines: readonly number[]
  exports: readonly string[]
  privateFunctions: readonly PrivateFunction[]
  functions: readonly FunctionSize[]
  literals: readonly { line: number; text: string }[]
  /** Lines that spread an object or list literal. */
  literalSpreadLines: readonly number[]
  /** Lines that call another program: by `fetch`, or by modules of Node and packages. */
  callingLines: readonly number[]
  /** Words outside literals that announce unfinished work. */
  reminders: readonly { line: number; word: string }[]
}

const folders = '{src,web,packages,examples/demo,test,scripts,bench}/**/*.{ts,tsx,mts,js,mjs}'

/** Generated files. */
const made = ['**/node_modules/**', 'packages/*/dist/**', 'packages/sdk/*/generated/**']

export const readSources = (root: string): Source[] => {
  const paths = globSync(folders, { cwd: root, exclude: [...made] })
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
  const api = new API({ cwd: root })
  try {
    const snapshot = api.updateSnapshot({ openFiles: paths.map((path) => join(root, path)) })
    return paths.map((path) => {
      const file = join(root, path)
      const tree = snapshot.getDefaultProjectForFile(file)?.program.getSourceFile(file)
      if (!tree) throw new Error(`the compiler cannot read ${path}`)
      return readSource(root, path, tree)
    })
  } finally {
    api.close()
  }
}

/** Lists the long lines of the files of SQL, as `path:line`. */
export const listLongLinesOfSql = (root: string): string[] =>
  globSync('{src,database}/**/*.sql', { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .flatMap((path) =>
      listLongLines(readFileSync(join(root, path), 'utf8')).map((line) => `${path}:${line}`),
    )

const readSource = (root: string, path: string, tree: SyntaxTree): Source => {
  const nodes = [...descendants(tree)]
  const findLine = (node: Node): number => lineAt(tree, node.getStart(tree))
  const declarations = listDeclarations(tree)
  const named = new Map<string, number>()
  for (const { text } of nodes.filter(isIdentifier)) named.set(text, (named.get(text) ?? 0) + 1)
  const listLines = (select: (node: Node) => boolean): number[] =>
    nodes.filter(select).map(findLine)
  return {
    path,
    lineCount: tree.text.replace(/\n$/, '').split('\n').length,
    imports: nodes.flatMap((node) => {
      const found = findImport(node)
      return found
        ? [{ ...found, line: findLine(node), path: target(root, path, found.specifier) }]
        : []
    }),
    importLineCount: nodes
      .filter(isImportDeclaration)
      .reduce((sum, node) => sum + lineAt(tree, node.end) - findLine(node) + 1, 0),
    longLines: listLongLines(tree.text),
    exports: declarations.filter(({ isExported }) => isExported).map(({ name }) => name),
    privateFunctions: declarations
      .filter(({ isExported, isFunction }) => isFunction && !isExported)
      .map(({ line, name }) => ({ line, name, uses: (named.get(name) ?? 1) - 1 })),
    functions: nodes.filter(hasBody).map((node) => ({
      line: findLine(node),
      name: findName(node, tree),
      lineCount: lineAt(tree, node.end) - findLine(node) + 1,
    })),
    literals: nodes.filter(isText).map((node) => ({ line: findLine(node), text: node.text })),
    literalSpreadLines: listLines(spreadsLiteral),
    callingLines: listLines(callsOut),
    reminders: reminders(tree, nodes.filter(isLiteralLikeNode)),
  }
}

const columnsMax = 100

/** A word longer than a line stays whole: a URL, a regular expression, hexadecimal digits. */
const unbreakable = /^\s*(?:\/\/|\*|--)?\s*\S+(?: \+)?$/

const listLongLines = (text: string): number[] =>
  text
    .split('\n')
    .flatMap((line, at) =>
      [...line].length > columnsMax && !unbreakable.test(line) ? [at + 1] : [],
    )

const descendants = function* (node: Node): Generator<Node> {
  const children: Node[] = []
  node.forEachChild((child) => {
    children.push(child)
  })
  for (const child of children) {
    yield child
    yield* descendants(child)
  }
}

const lineAt = (tree: SyntaxTree, position: number): number =>
  tree.getLineAndCharacterOfPosition(position).line + 1

const isText = (node: Node): node is Node & { text: string } =>
  isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node) || isTemplateHead(node)

type Declaration = { line: number; name: string; isExported: boolean; isFunction: boolean }

/** Lists the named declarations of a module outside functions. */
const listDeclarations = (tree: SyntaxTree): Declaration[] =>
  [...tree.statements].flatMap((statement) => {
    const declared = isVariableStatement(statement)
      ? [...statement.declarationList.declarations]
      : [statement]
    const modifiers = 'modifiers' in statement ? (statement.modifiers as readonly Node[]) : []
    const isExported = [...(modifiers ?? [])].some(({ kind }) => kind === SyntaxKind.ExportKeyword)
    return declared.flatMap((node) => {
      const name = 'name' in node ? (node.name as Node | undefined) : undefined
      if (!name || !isIdentifier(name)) return []
      const value = isVariableDeclaration(node) ? node.initializer : node
      const isFunction = value !== undefined && hasBody(value)
      return [{ line: lineAt(tree, node.getStart(tree)), name: name.text, isExported, isFunction }]
    })
  })

/** Returns the target of `import`, `export … from`, `import()` or `import('…').Type`. */
const findImport = (node: Node): { specifier: string } | undefined => {
  if (isImportDeclaration(node) || isExportDeclaration(node)) return specified(node.moduleSpecifier)
  if (isImportTypeNode(node)) {
    return isLiteralTypeNode(node.argument) ? specified(node.argument.literal) : undefined
  }
  const isDynamic = isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword
  return isDynamic ? specified(node.arguments[0]) : undefined
}

const specified = (specifier: Node | undefined): { specifier: string } | undefined =>
  specifier && isText(specifier) ? { specifier: specifier.text } : undefined

const onlyTypes = (node: Node): boolean => {
  if (!isImportDeclaration(node) || !node.importClause) return false
  const { phaseModifier, name, namedBindings } = node.importClause
  if (phaseModifier === SyntaxKind.TypeKeyword) return true
  if (name || !namedBindings || !isNamedImports(namedBindings)) return false
  return namedBindings.elements.every((element) => element.isTypeOnly)
}

const target = (root: string, from: string, specifier: string): string | undefined =>
  specifier.startsWith('.')
    ? relative(root, resolve(root, dirname(from), specifier)).replaceAll('\\', '/')
    : undefined

const hasBody = (node: Node): node is FunctionLikeDeclaration =>
  isFunctionLikeDeclaration(node) && 'body' in node && node.body !== undefined

const findName = (node: Node, tree: SyntaxTree): string => {
  for (const candidate of [node, node.parent]) {
    if (candidate && 'name' in candidate && candidate.name) {
      const name = candidate.name as Node
      return tree.text.slice(name.getStart(tree), name.end)
    }
  }
  return node.kind === SyntaxKind.Constructor ? 'constructor' : 'a function'
}

const spreadsLiteral = (node: Node): boolean =>
  (isSpreadElement(node) || isSpreadAssignment(node)) &&
  (isObjectLiteralExpression(node.expression) || isArrayLiteralExpression(node.expression))

const isGlobal = (node: Node): boolean => isIdentifier(node) && node.text === 'globalThis'

const callsOut = (node: Node): boolean => {
  if (isCallExpression(node))
    return isIdentifier(node.expression) && node.expression.text === 'fetch'
  if (isPropertyAccessExpression(node))
    return isGlobal(node.expression) && node.name.text === 'fetch'
  if (!isImportDeclaration(node) || onlyTypes(node)) return false
  const from = specified(node.moduleSpecifier)?.specifier.replace('node:', '') ?? ''
  if (from === 'undici') return true
  const bindings = node.importClause?.namedBindings
  if (!['http', 'https', 'http2'].includes(from) || !bindings || !isNamedImports(bindings))
    return false
  return bindings.elements.some(({ name, propertyName }) =>
    ['request', 'get', 'connect'].includes((propertyName ?? name).text),
  )
}

const reminders = (tree: SyntaxTree, literals: readonly Node[]): Source['reminders'] => {
  const inLiteral = (position: number): boolean =>
    literals.some((node) => node.getStart(tree) <= position && position < node.end)
  return [...tree.text.matchAll(/\b(?:TODO|FIXME|XXX)\b|@ts-(?:ignore|nocheck)\b/g)]
    .filter((found) => !inLiteral(found.index))
    .map((found) => ({ line: lineAt(tree, found.index), word: found[0] }))
}
