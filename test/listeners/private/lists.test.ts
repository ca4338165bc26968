import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { activateKey } from '../../support/builders.ts'
import { type Answer, openTestService, sql, type TestService } from '../../support/service.ts'

let service: TestService

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  const fill = (text: string) => sql(service.database, text)
  await fill(`insert into zone_key (client_id, key_name, algorithm, pin_block_formats, key_block,
      key_check_value, created_at)
    select 'demo-network', 'zone-' || n, algorithm, pin_block_formats, key_block, key_check_value,
      now() + n * interval '1 second'
    from zone_key, generate_series(1, 130) n where client_id = 'demo-network' and key_name = 'zone-b'`)
  await fill(`update zone_key set retired_at = now() where key_name in ('zone-129', 'zone-130')`)
  await fill(`insert into audit_act (act, subject_kind, subject, details, acted_at)
    select 'drawn ' || n, 'key', 'x/1', '{}', '2026-01-01T00:00:00.000001Z'::timestamptz + (n / 3) * interval '1 microsecond'
    from generate_series(1, 250) n`)
  await fill(`insert into component_entry (target, algorithm, length_bytes, component_count,
      key_check_value, opened_by, expires_at)
    select '{"family":"zone-master","key":"zmk-' || n || '"}', 'AES', 32, 2, 'ABCDEF', 'demo-admin',
      '2099-01-01T00:00:00Z'::timestamptz + (n / 3) * interval '1 microsecond'
    from generate_series(1, 120) n`)
  for (const name of ['product', 'client']) await fill(copies[name as keyof typeof copies])
  await fill(`insert into audit_act (act, subject_kind, subject, details, client_id, request_id)
    select 'changed', 'client', 'demo-client', '{}', 'demo-admin', n::text from generate_series(1, 120) n`)
})

const copies = {
  product: `insert into product (product_id, product_name, scheme_name, bin, currency_code, card_types,
      validity_months, pin_length, pin_revealable, pin_try_limit, cvv_try_limit)
    select 9000 + n, product_name, scheme_name, (70000000 + n)::text, currency_code, card_types,
      validity_months, pin_length, pin_revealable, pin_try_limit, cvv_try_limit
    from product, generate_series(1, 120) n where product_id = 1001`,
  client: `insert into client (client_id, client_name, kind, scopes)
    select 'net-' || n, 'Net', 'network', '{}' from generate_series(1, 120) n`,
}

const get = (path: string): Promise<Answer> =>
  service.call('GET', `/${path}`, { as: 'admin', listener: 'private' })

/** Follows the links from a first page to the last. */
const pages = async (path: string): Promise<object[][]> => {
  const found: object[][] = []
  for (let next: string | undefined = path; next !== undefined; ) {
    const { headers, json, status, text } = await get(next)
    assert.equal(status, 200, text)
    found.push(json)
    next = /^<(\/[^>]+)>; rel="next"$/.exec(String(headers.link ?? ''))?.[1]
    assert.ok(found.length <= 400)
  }
  return found
}

const lists = [
  '/keys',
  '/keys/acts',
  '/component-entries',
  '/products',
  '/clients',
  '/zones',
  '/acts',
]

test('every list of the private listener ends at 100 unless fewer are asked for, and goes on by its link', async () => {
  for (const list of lists) {
    const whole = await pages(list)
    assert.deepEqual(
      whole.slice(0, -1).map(({ length }) => length),
      whole.slice(1).map(() => 100),
      list,
    )
    assert.ok(whole.length > 1 && (whole.at(-1)?.length ?? 0) > 0, list)
    const all = whole.flat().map((row) => JSON.stringify(row))
    assert.equal(new Set(all).size, all.length, `${list}: each once`)
    for (const limit of [13, 99]) {
      const parts = await pages(`${list}?limit=${limit}`)
      const told = parts.flat().map((row) => JSON.stringify(row))
      assert.deepEqual(told, all, `${list} by ${limit}`)
      assert.ok(
        parts.slice(0, -1).every(({ length }) => length === limit),
        list,
      )
    }
  }
})

test('acts of one instant are told the newest first', async () => {
  const acts = (await pages('/keys/acts?limit=13')).flat() as { act: string }[]
  const drawn = acts.map(({ act }) => act).filter((act) => act.startsWith('drawn '))
  assert.deepEqual(
    drawn,
    Array.from({ length: 250 }, (_, index) => `drawn ${250 - index}`),
  )
})

test('a limit beyond 100 and a cursor from nowhere are refused on every one', async () => {
  const cursors = [
    'zone',
    ...[
      ['zone', 'a', -1, ''],
      ['none', 'a', 0, ''],
      ['zone', 'a\0', 0, ''],
    ].map(encoded),
  ]
  for (const list of lists) {
    for (const query of ['limit=101', 'limit=0', 'cursor=', `cursor=${encoded([['x'], 'y'])}`]) {
      const { json, status } = await get(`${list}?${query}`)
      assert.deepEqual([status, json.code], [422, 'validation_failed'], `${list}?${query}`)
    }
  }
  for (const cursor of cursors)
    assert.equal((await get(`/keys?cursor=${cursor}`)).status, 422, cursor)
})

const encoded = (position: readonly unknown[]): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url')

test('the list of keys tells which version is in use and how far it is, on whichever page it stands', async () => {
  await service.call('POST', '//keys/pan/rotate', { as: 'admin', listener: 'private' })
  await activateKey(service.database, 'pan')
  await sql(service.database, `insert into re_encryption (key_name, key_version) values ('pan', 2)`)
  const rows = (await pages('/keys?limit=1')).flat() as {
    key: string
    version: number | null
    current: boolean
    reEncryption: object | null
  }[]
  const pan = rows.filter(({ key }) => key === 'pan')
  assert.deepEqual(
    pan.map(({ current, reEncryption, version }) => [version, current, reEncryption !== null]),
    [
      [1, false, false],
      [2, true, true],
    ],
  )
  assert.deepEqual(rows[0]?.key, 'master-key')
})

test('of a network at most 100 keys are shown, those in use first; the list of keys has all', async () => {
  const zones = (await pages('/zones')).flat() as { clientId: string; keys: { key: string }[] }[]
  const network = zones.find(({ clientId }) => clientId === 'demo-network')
  const names = network?.keys.map(({ key }) => key) ?? []
  assert.equal(names.length, 100)
  assert.ok(names.includes('zone-128') && !names.includes('zone-129'))
  const all = (await pages('/keys')).flat() as { clientId?: string }[]
  assert.equal(all.filter(({ clientId }) => clientId === 'demo-network').length, 133)
})
