import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Lock, parsePackageName, runtimePackages } from './lock.ts'
import { root } from './program.ts'

const isLicence = (name: string): boolean => /^(licen[cs]e|notice|copying)([.-].*)?$/i.test(name)

/**
 * Composes the notices: every included package, its licence and its authors' texts, without
 * repetitions.
 */
export async function thirdPartyNotices(lock: Lock): Promise<string> {
  const texts = new Map<string, Set<string>>()
  const silent: string[] = []
  for (const [path, { license, optional = false, version }] of runtimePackages(lock)) {
    const title = `${parsePackageName(path)} ${version} (${license})`
    const names = await readdir(join(root, path)).catch((error: unknown) => {
      // An optional package is not included; its installation brings its licence.
      if (optional) return []
      throw error
    })
    const files = names.filter(isLicence).sort()
    const found = await Promise.all(files.map((name) => readFile(join(root, path, name), 'utf8')))
    const text = found
      .map((each) =>
        each
          .replaceAll('\r', '')
          .replaceAll(/[ \t]+$/gm, '')
          .trim(),
      )
      .join('\n\n')
    if (text === '') silent.push(title)
    else texts.set(text, (texts.get(text) ?? new Set()).add(title))
  }
  const listed = [...texts].map(([text, titles]): [string, string] => [
    [...titles].sort().join(', '),
    text,
  ])
  const sections = listed.sort(([one], [other]) => (one < other ? -1 : 1))
  return `# Third-party notices

The package contains what is listed here. \`sbom.cdx.json\` says the same for programs, with digests. Written when it
was packed.

${sections.map(([titles, text]) => `## ${titles}\n\n\`\`\`text\n${text}\n\`\`\`\n`).join('\n')}
## Without a text of their own

These name a licence and bring no text of it; the texts above are the same.

${[...new Set(silent)]
  .sort()
  .map((title) => `- ${title}`)
  .join('\n')}
`
}
