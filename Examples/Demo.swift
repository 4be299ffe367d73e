print("no demonstration yet")
