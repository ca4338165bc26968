/** Whether a text is a block of addresses: `10.0.0.0/8`, `fd00::/8`, or a single address. */
export function isCidr(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const bits = isIpv4(address) ? 32 : isIpv6(address) ? 128 : -1
  if (bits < 0 || rest.length > 0) return false
  return prefix === undefined || (/^(0|[1-9][0-9]{0,2})$/.test(prefix) && Number(prefix) <= bits)
}

const isIpv4 = (address: string): boolean =>
  /^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.|$)){4}$/.test(address) &&
  !address.endsWith('.')

const isIpv6 = (address: string): boolean =>
  /^[0-9a-f:.]+$/i.test(address) && URL.canParse(`http://[${address}]/`)
