/**
 * The countries, by ISO 3166-1 alpha-3 code, whose addresses have no postal code. Source: the
 * address formats of Google's libaddressinput (chromium-i18n.appspot.com/ssl-address), as of
 * 2024-09-04: those without a field `%Z`.
 */
const countriesWithoutPostalCodes: ReadonlySet<string> = new Set(
  `
  ABW AGO ARE ATA ATF ATG BDI BEN BES BFA BHS BLZ BOL BVT
  BWA CAF CIV CMR COD COG COK COM CUW DJI DMA ERI FJI GAB
  GHA GMB GNQ GRD GUY HKG JAM KIR KNA LBY LCA MAC MLI MRT
  MSR MWI NIU NRU PAN PSE QAT RWA SLB SLE SSD STP SUR SXM
  SYC SYR TCD TGO TKL TLS TON TTO TUV UGA VUT WSM YEM ZWE
`
    .trim()
    .split(/\s+/),
)

/** Whether addresses of a country may be written without a postal code. */
export const mayLackPostalCode = (country: string): boolean =>
  countriesWithoutPostalCodes.has(country)
