/// Real exchange rates: euro foreign exchange reference rates of the European Central Bank, of the days around Croatia's
/// change to the euro at the end of 2022, for some of the currencies of its file and in the file's form.
public enum PublishedRates {
  /// As `eurofxref-hist.csv` has them. No rate was published on weekends and on 26 December; of HRK on none after 30
  /// December, of CYP and RUB on none of these days.
  public static let history = """
    Date,USD,JPY,BGN,CYP,GBP,CHF,HRK,RUB,IDR,KRW,
    2023-01-09,1.0696,141.35,1.9558,N/A,0.88048,0.9865,N/A,N/A,16661.92,1330.37,
    2023-01-06,1.05,141.3,1.9558,N/A,0.88475,0.9864,N/A,N/A,16468.3,1337.18,
    2023-01-05,1.0601,140.95,1.9558,N/A,0.88303,0.9839,N/A,N/A,16543.07,1345.9,
    2023-01-04,1.0599,138.74,1.9558,N/A,0.88076,0.9843,N/A,N/A,16504.76,1348.95,
    2023-01-03,1.0545,137.93,1.9558,N/A,0.88048,0.9879,N/A,N/A,16471.95,1346.51,
    2023-01-02,1.0683,139.62,1.9558,N/A,0.8863,0.9873,N/A,N/A,16631.78,1357.8,
    2022-12-30,1.0666,140.66,1.9558,N/A,0.88693,0.9847,7.5365,N/A,16519.82,1344.09,
    2022-12-29,1.0649,142.24,1.9558,N/A,0.88549,0.984,7.5365,N/A,16680.38,1350.18,
    2022-12-28,1.064,142.21,1.9558,N/A,0.88058,0.9863,7.5365,N/A,16765.93,1348.59,
    2022-12-27,1.0624,141.68,1.9558,N/A,0.88333,0.9885,7.5375,N/A,16620.58,1349.85,
    2022-12-23,1.0622,140.86,1.9558,N/A,0.8803,0.9867,7.537,N/A,16569.18,1359.5,

    """

  /// The day after, as `eurofxref.csv` has it: without the currencies that are no longer published.
  public static let nextDay = """
    Date, USD, JPY, BGN, GBP, CHF, IDR, KRW,\u{20}
    10 January 2023, 1.0723, 141.92, 1.9558, 0.8833, 0.9908, 16675.07, 1338.38,\u{20}

    """
}
