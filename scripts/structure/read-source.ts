/** What the rules need to know of each file, read from the syntax tree of the TypeScript compiler. */
import { globSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import {
  type FunctionLikeDeclaration,
  type ImportDeclaration,
  isArrayLiteralExpression,
  isCallExpression,
  isElementAccessExpression,
  isExportDeclaration,
  isFunctionLikeDeclaration,
  isIdentifier,
  isImportDeclaration,
  isImportTypeNode,
  isLiteralLikeNode,
  isLiteralTypeNode,
  isNamedExports,
  isNamedImports,
  isNoSubstitutionTemplateLiteral,
  isObjectLiteralExpression,
  isPropertyAccessExpression,
  isQualifiedName,
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

export type Import = {
  line: number
  specifier: string
  /** From the project's root; unset for a package or a module of Node. */
  path: string | undefined
  /** What is taken by its name; null: all of it. */
  names: readonly string[] | null
}

/** A function of a module that no other file may import. */
export type PrivateFunction = { line: number; name: string; uses: number }

export type FunctionSize = {
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
  exports: readonly string[]
  privateFunctions: readonly PrivateFunction[]
  functions: readonly FunctionSize[]
  literals: readonly { line: number; text: string }[]
  /** Lines with the type `any`. */
  anyLines: readonly number[]
  /** Lines that spread an object or a list that is written out right there. */
  literalSpreadLines: readonly number[]
  environmentLines: readonly number[]
  /** Lines that call another program: by `fetch`, or by what Node and its packages have for it. */
  callingLines: readonly number[]
  starExportLines: readonly number[]
  /** Words outside literals that announce work not done. */
  reminders: readonly { line: number; word: string }[]
}

const folders = '{src,web,packages,examples/demo,test,scripts,bench}/**/*.{ts,tsx,mts,js,mjs}'

/** What no person wrote here. */
const made = ['**/node_modules/**', 'packages/*/dist/**', 'packages/sdk/client/generated/**']

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

const readSource = (root: string, path: string, tree: SyntaxTree): Source => {
  const nodes = [...descendants(tree)]
  const lineOf = (node: Node): number => lineAt(tree, node.getStart(tree))
  const declarations = declarationsOf(tree)
  const named = new Map<string, number>()
  for (const { text } of nodes.filter(isIdentifier)) named.set(text, (named.get(text) ?? 0) + 1)
  const linesOf = (select: (node: Node) => boolean): number[] => nodes.filter(select).map(lineOf)
  return {
    path,
    lineCount: tree.text.replace(/\n$/, '').split('\n').length,
    imports: nodes.flatMap((node) => {
      const found = importOf(node, tree, nodes)
      return found
        ? [{ ...found, line: lineOf(node), path: target(root, path, found.specifier) }]
        : []
    }),
    importLineCount: nodes
      .filter(isImportDeclaration)
      .reduce((sum, node) => sum + lineAt(tree, node.end) - lineOf(node) + 1, 0),
    exports: declarations.filter(({ isExported }) => isExported).map(({ name }) => name),
    privateFunctions: declarations
      .filter(({ isExported, isFunction }) => isFunction && !isExported)
      .map(({ line, name }) => ({ line, name, uses: (named.get(name) ?? 1) - 1 })),
    functions: nodes.filter(hasBody).map((node) => ({
      line: lineOf(node),
      name: nameOf(node, tree),
      lineCount: lineAt(tree, node.end) - lineOf(node) + 1,
    })),
    literals: nodes.filter(isText).map((node) => ({ line: lineOf(node), text: node.text })),
    anyLines: linesOf((node) => node.kind === SyntaxKind.AnyKeyword),
    literalSpreadLines: linesOf(spreadsLiteral),
    environmentLines: linesOf(readsEnvironment),
    callingLines: linesOf(callsOut),
    starExportLines: linesOf((node) => isExportDeclaration(node) && !node.exportClause),
    reminders: reminders(tree, nodes.filter(isLiteralLikeNode)),
  }
}

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

/** What a module declares by name outside of every function. */
const declarationsOf = (tree: SyntaxTree): Declaration[] =>
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

type FoundImport = { specifier: string; names: readonly string[] | null }

/** `import`, `export … from`, `import()` and `import('…').Type`, whatever the form. */
const importOf = (
  node: Node,
  tree: SyntaxTree,
  nodes: readonly Node[],
): FoundImport | undefined => {
  if (isImportDeclaration(node)) return specified(node.moduleSpecifier, importedNames(node, nodes))
  if (isExportDeclaration(node)) {
    const { exportClause: clause, moduleSpecifier } = node
    return specified(
      moduleSpecifier,
      clause && isNamedExports(clause) ? namesOf(clause.elements) : null,
    )
  }
  if (isImportTypeNode(node)) {
    if (!isLiteralTypeNode(node.argument)) return undefined
    const { qualifier } = node
    const name = qualifier && tree.text.slice(qualifier.getStart(tree), qualifier.end)
    return specified(node.argument.literal, name === undefined ? null : [name])
  }
  const isDynamic = isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword
  return isDynamic ? specified(node.arguments[0]) : undefined
}

const importedNames = (
  { importClause }: ImportDeclaration,
  nodes: readonly Node[],
): readonly string[] | null => {
  if (!importClause) return []
  const { namedBindings } = importClause
  if (!namedBindings) return null
  if (isNamedImports(namedBindings)) return namesOf(namedBindings.elements)
  return membersOf(namedBindings.name.text, nodes)
}

/** What is taken of a module under one name for all of it: the members that are named, or null: any of them. */
const membersOf = (namespace: string, nodes: readonly Node[]): readonly string[] | null => {
  const members = nodes.flatMap((node) => {
    if (isPropertyAccessExpression(node)) return memberOf(namespace, node.expression, node.name)
    return isQualifiedName(node) ? memberOf(namespace, node.left, node.right) : []
  })
  const mentions = nodes.filter(isIdentifier).filter(({ text }) => text === namespace)
  // Once it is imported; whoever mentions it besides may look at all that is in it.
  return mentions.length === members.length + 1 ? members : null
}

const memberOf = (namespace: string, whole: Node, member: { text: string }): readonly string[] =>
  isIdentifier(whole) && whole.text === namespace ? [member.text] : []

const namesOf = (
  elements: Iterable<{ name: { text: string }; propertyName?: { text: string } | undefined }>,
): readonly string[] => [...elements].map(({ name, propertyName }) => (propertyName ?? name).text)

const specified = (
  specifier: Node | undefined,
  names: readonly string[] | null = null,
): FoundImport | undefined =>
  specifier && isText(specifier) ? { specifier: specifier.text, names } : undefined

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

const nameOf = (node: Node, tree: SyntaxTree): string => {
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

const readsEnvironment = (node: Node): boolean => {
  if (isImportDeclaration(node)) {
    return specified(node.moduleSpecifier)?.specifier.replace('node:', '') === 'process'
  }
  if (isPropertyAccessExpression(node))
    return isProcess(node.expression) && node.name.text === 'env'
  if (!isElementAccessExpression(node) || !isProcess(node.expression)) return false
  return isText(node.argumentExpression) && node.argumentExpression.text === 'env'
}

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

const isProcess = (node: Node): boolean => isIdentifier(node) && node.text === 'process'

const reminders = (tree: SyntaxTree, literals: readonly Node[]): Source['reminders'] => {
  const inLiteral = (position: number): boolean =>
    literals.some((node) => node.getStart(tree) <= position && position < node.end)
  return [...tree.text.matchAll(/\b(?:TODO|FIXME|XXX)\b|@ts-(?:ignore|nocheck)\b/g)]
    .filter((found) => !inLiteral(found.index))
    .map((found) => ({ line: lineAt(tree, found.index), word: found[0] }))
}
