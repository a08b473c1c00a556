extension String {
  /// Whether there is nothing in it that people see: it is empty, or all spaces, characters that steer and ones without
  /// width. A service takes such a text for none.
  var isBlank: Bool {
    unicodeScalars.allSatisfy { scalar in
      let properties = scalar.properties
      if properties.isWhitespace || properties.isDefaultIgnorableCodePoint { return true }
      switch properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator: return true
      // The pattern of Braille without a dot.
      default: return scalar.value == 0x2800
      }
    }
  }
}
