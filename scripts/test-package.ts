/**
 * `npm test -- --suite package`: makes a trial release and installs its package with npm in an
 * empty folder, offline and as an ordinary user; uses it there as the documentation describes, then
 * in the root folder of the image. A part that this machine cannot run is reported and skipped;
 * with `TEST_PACKAGE_WHOLE=required` that is a failure.
 */
import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePorts } from '../test/support/free-ports.ts'
import { buildImageRoot } from './package/image-root.ts'
import { readLock, runtimePackages } from './package/lock.ts'
import { root } from './package/program.ts'

const execute = promisify(execFile)
const installedMegabytesMax = 100
const isRoot = process.getuid?.() === 0
/** The user nobody, who owns only files that this test gives to it. */
const ordinary = isRoot ? { uid: 65_534, gid: 65_534 } : {}
const temporary = mkdtempSync(join(tmpdir(), 'pinfold-package-'))
const release = join(temporary, 'release')
const folder = join(temporary, 'empty')
const own = join(folder, 'node_modules/pinfold')
const version = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version as string
const archive = `pinfold-${version}.tgz`
/** The tested versions of Node: this one, and the oldest in `TEST_OLDEST_NODE`, if set. */
const nodes = [process.execPath, process.env.TEST_OLDEST_NODE].filter((each) => each !== undefined)

let environments = 0
const environmentFor = async (node: string) => {
  const [port, privatePort] = await freePorts()
  return {
    PATH: `${dirname(node)}:/usr/bin:/bin`,
    HOME: folder,
    npm_config_cache: join(folder, '.npm'),
    npm_config_update_notifier: 'false',
    PORT: String(port),
    PRIVATE_PORT: String(privatePort),
    LINK_PORT: '0',
    DATA_DIR: join(folder, `data-${environments++}`),
  }
}
type Environment = Awaited<ReturnType<typeof environmentFor>>

const run = async (env: Environment, command: string, ...words: readonly string[]) =>
  (await execute(command, words, { cwd: folder, env, maxBuffer: 2 ** 26, ...ordinary })).stdout

/** Skips a part and reports it. */
const leaveOut = (t: TestContext, why: string): void => {
  assert.notEqual(process.env.TEST_PACKAGE_WHOLE, 'required', why)
  console.log(`Left out: ${t.name}: ${why}`)
  t.skip(why)
}

const untilReady = async ({ PRIVATE_PORT }: { readonly PRIVATE_PORT: string }): Promise<void> => {
  for (const deadline = Date.now() + 600_000; Date.now() < deadline; await wait(100)) {
    const url = `http://127.0.0.1:${PRIVATE_PORT}/readyz`
    if (
      await fetch(url).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return
  }
  throw new Error('The service is not ready.')
}

before(() => {
  execFileSync(process.execPath, ['scripts/release.ts', '--dry-run', '--keep', release], {
    cwd: root,
    stdio: 'inherit',
  })
  mkdirSync(folder)
  cpSync(join(release, archive), join(folder, archive))
  if (isRoot) execFileSync('chown', ['-R', '65534:65534', folder])
  execFileSync('chmod', ['755', temporary])
})
after(() => rmSync(temporary, { recursive: true, force: true }))

test('a release has its three packages, the bill of materials, the notices, and a checksum of each', () => {
  const sums = readFileSync(join(release, 'SHA256SUMS'), 'utf8').trimEnd().split('\n')
  const names = readdirSync(release).filter((name) => name !== 'SHA256SUMS')
  assert.deepEqual(
    sums.map((line) => line.split('  ')[1]),
    names.sort(),
  )
  assert.ok(
    [
      archive,
      `pinfold-sdk-${version}.tgz`,
      `pinfold-card-element-${version}.tgz`,
      'sbom.cdx.json',
    ].every((each) => names.includes(each)),
  )
  for (const line of sums) {
    const [digest, name = ''] = line.split('  ')
    const found = createHash('sha256')
      .update(readFileSync(join(release, name)))
      .digest('hex')
    assert.equal(found, digest)
  }
})

test('the package is installed in an empty folder by npm, without a network, and is as small as it is said to be', async () => {
  const env = await environmentFor(process.execPath)
  const begun = Date.now()
  await run(env, 'npm', 'install', '--offline', `./${archive}`)
  const bytes = Number(
    (await run(env, 'du', '-s', '--block-size=1', 'node_modules')).split('\t')[0],
  )
  const megabytes = bytes / 1e6
  console.log(`Installed in ${(Date.now() - begun) / 1000} s: ${megabytes.toFixed(1)} MB.`)
  assert.ok(megabytes <= installedMegabytesMax, `${megabytes} MB`)
  // Its content matches the bill of materials, without Node.
  const wanted = runtimePackages(await readLock()).filter(([, { optional }]) => !optional)
  for (const [path, locked] of wanted) {
    const found = JSON.parse(readFileSync(join(own, path, 'package.json'), 'utf8'))
    assert.equal(found.version, locked.version, path)
  }
  assert.ok(!readdirSync(join(own, 'node_modules')).includes('node'))
})

// Each has its own ports and data, so that two run concurrently.
describe('the installed package', { concurrency: 2 }, () => {
  for (const node of nodes) {
    test(`on ${node.includes(root) ? 'the Node of the tests' : 'the oldest Node'} it starts, issues a card, and tells what is wrong`, async () => {
      const env = await environmentFor(node)
      await run(env, 'npx', '--offline', 'pinfold', 'init')
      const begun = Date.now()
      const service = spawn('npx', ['--offline', 'pinfold', 'start'], {
        cwd: folder,
        env,
        detached: true,
        ...ordinary,
      })
      let printed = ''
      service.stdout.on('data', (chunk) => (printed += chunk))
      service.stderr.on('data', (chunk) => (printed += chunk))
      const ended = once(service, 'exit')
      try {
        await untilReady(env)
        console.log(
          `Node ${(await run(env, node, '--version')).trim()}: first start, ${(Date.now() - begun) / 1000} s.`,
        )
        assert.match(
          await run(env, node, 'client.mjs', join(env.DATA_DIR, 'sandbox.json')),
          /^Card [0-9]{10} is Active/,
        )
        const doctor = JSON.parse(await run(env, 'npx', '--offline', 'pinfold', 'doctor', '--json'))
        assert.deepEqual([doctor.healthy, doctor.faults], [true, 0])
        const keys = JSON.parse(
          await run(env, 'npx', '--offline', 'pinfold', 'keys', 'list', '--json'),
        )
        assert.ok(Object.keys(keys).length > 0)
        assert.match(await run(env, 'npx', '--offline', 'pinfold', 'demo'), /ISO 8583|Done|answers/)
      } finally {
        process.kill(-(service.pid ?? 0), 'SIGTERM')
      }
      await ended
      assert.doesNotMatch(printed, /Warning|"level":[456]0/, printed)
      assert.match(printed, /Pinfold is ready/)
    })
  }

  test('the guides, followed to the letter, lead where they say with the installed package, too', async () => {
    const files = ['--test', 'test/guides/clients.test.ts']
    const env = { ...process.env, TEST_PACKAGE: join(own, 'bin/pinfold.mjs') }
    // The variables of this test runner would affect the started one.
    Reflect.deleteProperty(env, 'NODE_TEST_CONTEXT')
    const { stdout } = await execute(process.execPath, files, {
      cwd: root,
      env,
      maxBuffer: 2 ** 26,
    })
    assert.match(stdout, /^. fail 0$/m)
  })

  test('on a terminal the first start prints words, and no line of JSON', async (t) => {
    const env = await environmentFor(process.execPath)
    const script = await execute('script', ['--version']).catch(() => null)
    if (script === null) return leaveOut(t, 'there is no script(1) to make a terminal')
    const command = `${process.execPath} ${join(own, 'bin/pinfold.mjs')} start`
    const service = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      cwd: folder,
      env,
      ...ordinary,
    })
    let printed = ''
    service.stdout.on('data', (chunk) => (printed += chunk))
    await untilReady(env)
    const ended = once(service, 'exit')
    service.kill('SIGTERM')
    await ended
    assert.match(printed, /migrated applied=/)
    assert.match(printed, /Pinfold is ready/)
    assert.doesNotMatch(printed, /^\{/m)
  })

  test('in the root folder of the image it starts without root on files that it cannot change, is healthy, and ends by SIGTERM', async (t) => {
    if (!isRoot) return leaveOut(t, 'only root can change the root folder')
    const rootFolder = join(temporary, 'image')
    const { environment, healthCheck, user, words, workingFolder } = buildImageRoot(rootFolder, own)
    const { DATA_DIR: _, ...env } = await environmentFor(process.execPath)
    const inImage = {
      ...environment,
      ...env,
      SANDBOX: 'true',
      PATH: '/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin',
      HOST: '127.0.0.1',
      PRIVATE_HOST: '127.0.0.1',
    }
    const mount = [
      `mount --bind ${rootFolder} ${rootFolder}`,
      `mount --bind ${rootFolder}${workingFolder} ${rootFolder}${workingFolder}`,
      `mount -o remount,bind,ro ${rootFolder}`,
      `mount -t tmpfs tmpfs ${rootFolder}/tmp`,
      `mount -t proc proc ${rootFolder}/proc`,
      `mount --rbind /dev ${rootFolder}/dev`,
    ].join(' && ')
    const enter = (command: readonly string[]) =>
      `exec chroot --userspec=${user}:${user} --groups= ${rootFolder} ${command.join(' ')}`
    const begun = Date.now()
    // The first process of its own namespace, as in a container.
    const service = spawn(
      'unshare',
      ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', `${mount} && ${enter(words)}`],
      { env: inImage },
    )
    let printed = ''
    service.stdout.on('data', (chunk) => (printed += chunk))
    service.stderr.on('data', (chunk) => (printed += chunk))
    const ended = once(service, 'exit')
    const failed = ended.then(() => Promise.reject(new Error(printed)))
    failed.catch(() => undefined)
    await Promise.race([untilReady(env), failed])
    console.log(`In the root folder of the image: first start, ${(Date.now() - begun) / 1000} s.`)
    const [pid] = readFileSync(`/proc/${service.pid}/task/${service.pid}/children`, 'utf8').split(
      ' ',
    )
    const inside = ['nsenter', '--mount', '--target', pid ?? '', 'sh', '-c']
    const check = async (command: string) => {
      const [word = '', ...others] = inside
      return (await execute(word, [...others, command], { env: inImage })).stdout
    }
    await check(enter(healthCheck))
    const sandboxFile = join(rootFolder, workingFolder, 'sandbox.json')
    const { stdout } = await execute(process.execPath, [
      join(root, 'deploy/init/client.mjs'),
      sandboxFile,
    ])
    assert.match(stdout, /^Card [0-9]{10} is Active/)
    assert.match(readFileSync(`/proc/${pid}/status`, 'utf8'), new RegExp(`^Uid:\\t${user}\\t`, 'm'))
    await assert.rejects(check(`touch ${rootFolder}/opt/pinfold/written`), /Read-only file system/)
    process.kill(Number(pid), 'SIGTERM')
    const stopped = Date.now()
    const [code] = await ended
    assert.equal(code, 0, printed)
    console.log(`SIGTERM to the end: ${(Date.now() - stopped) / 1000} s.`)
  })

  test('the unit is what systemd understands, and exposes little', async (t) => {
    const unit = join(root, 'deploy/systemd/pinfold.service')
    const version = await execute('systemd-analyze', ['--version']).catch(() => null)
    if (version === null) return leaveOut(t, 'there is no systemd-analyze')
    // The unit checks that the command exists on this machine.
    const text = readFileSync(unit, 'utf8')
    assert.match(
      text,
      /^ExecStart=\/usr\/bin\/node \/opt\/pinfold\/node_modules\/pinfold\/bin\/pinfold\.mjs start$/m,
    )
    const { stderr } = await execute('systemd-analyze', ['verify', unit])
    assert.doesNotMatch(stderr, /pinfold\.service:\d+|Unknown|Failed to parse/)
    const { stdout } = await execute('systemd-analyze', [
      'security',
      '--offline=true',
      '--no-pager',
      '--threshold=15',
      unit,
    ])
    console.log(stdout.trim().split('\n').at(-1))
  })

  test('the compose file is one that docker reads', async (t) => {
    const compose = join(root, 'deploy/container/compose.yaml')
    const words = ['compose', '--file', compose, 'config', '--quiet']
    const there = await execute('docker', ['compose', 'version']).catch(() => null)
    if (there === null) {
      // Optional, since a container engine needs the kernel's permission.
      console.log(
        `Left out: ${t.name}: there is no docker compose; the image was not built either.`,
      )
      return t.skip('there is no docker compose')
    }
    await execute('docker', words, { env: { ...process.env, DATABASE_PASSWORD: 'x' } })
  })
})
